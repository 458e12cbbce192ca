// SPDX-License-Identifier: Apache-2.0
// The routes of the server, as its OpenAPI document describes them.
import { byId, el } from "./dom.js";
import { ask, showProblem } from "./http.js";

const typeOf = (schema) => schema.enum?.join(" | ") ?? schema.oneOf?.map(typeOf).join(" or ")
  ?? (schema.type === "array" ? `list of ${typeOf(schema.items)}` : schema.type ?? "any");

// A line for each key, also of objects within.
function keysOf(schema, before = "") {
  if (schema.items) return keysOf(schema.items, before);
  return Object.entries(schema.properties ?? {}).flatMap(([name, key]) => {
    const kind = schema.required?.includes(name) ? "required" : JSON.stringify(key.default);
    const about = [typeOf(key), kind, key.description].filter(Boolean).join("; ");
    return [el("li", {}, el("code", {}, before + name), `: ${about}`),
      ...keysOf(key, `${before}${name}${key.items ? "[]" : ""}.`)];
  });
}

const list = (title, lines) => (lines.length === 0 ? [] : [el("h3", {}, title), el("ul", {}, ...lines)]);

function section(name, { summary, parameters = [], requestBody, responses }) {
  const keys = (part) => keysOf(part?.content?.["application/json"]?.schema ?? {});
  const address = { properties: Object.fromEntries(parameters.map((one) => [one.name, one.schema])) };
  const statuses = Object.entries(responses).map(([status, { description }]) => el("li", {}, `${status} ${description}`));
  return el("details", {}, el("summary", {}, el("code", {}, name), ` ${summary}`),
    ...list("In the address", keysOf(address)), ...list("Body", keys(requestBody)),
    ...list("Answer", keys(responses["200"])), ...list("Statuses", statuses));
}

try {
  const { answer: { paths } } = await ask("openapi.json");
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, route] of Object.entries(methods)) byId("routes").append(section(`${method.toUpperCase()} ${path}`, route));
  }
} catch (error) {
  showProblem(byId("routes"), error, () => location.reload());
}
