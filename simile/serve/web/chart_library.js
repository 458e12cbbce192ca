// SPDX-License-Identifier: Apache-2.0
// uPlot, fetched from this server when the first chart is drawn.
import { el } from "./dom.js";

const kName = "vendor/uPlot-1.6.32.min";
let loading = null;

export function loadCharts() {
  loading ??= new Promise((resolve, reject) => {
    const at = (ending) => new URL(kName + ending, import.meta.url).href;
    const script = el("script", { src: at(".js") });
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => {
      loading = null;
      reject(new Error("the library of the charts cannot be fetched"));
    };
    document.head.append(el("link", { rel: "stylesheet", href: at(".css") }), script);
  });
  return loading;
}
