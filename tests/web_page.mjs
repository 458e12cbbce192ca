// SPDX-License-Identifier: Apache-2.0
// The server's page as a person uses it: web_page.mjs PICTURES RUNS, then process and port of three servers: one with an
// index and the training runs of RUNS, one that asks for the key "sesame", one without an index. The first is ended.
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.env.PLAYWRIGHT_CORE + "/");
const { chromium } = require("playwright-core");
const [pictures, runs, first, open, , guarded, , bare] = process.argv.slice(2);
const address = (port) => `http://127.0.0.1:${port}/`;
const axePath = `${process.env.PLAYWRIGHT_CORE}/node_modules/axe-core/axe.min.js`;
const kSmall = { width: 320, height: 640 };
const kPhone = { width: 375, height: 720 };
const kDesk = { width: 1100, height: 820 };

function expect(condition, what) {
  if (!condition) throw new Error(what);
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const complaints = [];  // of the browser, and requests to others

async function newPage(port, options = {}) {
  const context = await browser.newContext({ viewport: kDesk, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(address(port))) complaints.push(`asked ${request.url()}`);
  });
  await page.goto(address(port));
  return page;
}

const picture = (page, name) => page.screenshot({ path: `${pictures}/${name}.png` });
const text = (page, selector) => page.locator(selector).innerText();
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.className);

async function ask(page, query) {
  await page.fill("#query", query);
  await page.press("#query", "Enter");
  await page.waitForSelector("#hits:not([aria-busy]) .hit");
}

// The map without the time that it takes to move.
const settled = (page) => page.waitForTimeout(350);
const ink = (page) => page.evaluate(() => document.getElementById("map-canvas").toDataURL());

// Moves the mouse over the map until it is on a point.
async function findPoint(page) {
  const { x, y, width, height } = await page.locator("#map-canvas").boundingBox();
  for (let i = 0; i < 400; ++i) {
    const place = [x + width * (0.2 + 0.6 * ((i * 0.618) % 1)), y + height * (0.2 + 0.6 * (i / 400))];
    await page.mouse.move(...place);
    if (await page.locator("#map-tip").isVisible()) return place;
  }
  throw new Error("no point under the mouse");
}

async function drag(page, right, down) {
  const { x, y, width, height } = await page.locator("#map-canvas").boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width / 2 + right, y + height / 2 + down, { steps: 4 });
  await page.mouse.up();
}

async function pinch(page) {
  await page.locator("#map-canvas").scrollIntoViewIfNeeded();
  const { x, y, width, height } = await page.locator("#map-canvas").boundingBox();
  const fingers = (apart) => [-apart, apart].map((far, id) => ({ x: x + width / 2 + far, y: y + height / 2, id }));
  const session = await page.context().newCDPSession(page);
  const send = (type, touchPoints) => session.send("Input.dispatchTouchEvent", { type, touchPoints });
  await send("touchStart", fingers(30));
  for (let apart = 40; apart <= 90; apart += 10) await send("touchMove", fingers(apart));
  await send("touchEnd", []);
  await page.waitForTimeout(100);
}

const steps = {
  async "finds, marks and tells the time"() {
    const page = await newPage(open);
    await page.waitForFunction(() => document.getElementById("search-status").textContent.includes("276 documents"));
    expect(await focused(page) === "query", "the query has the focus");
    await picture(page, "start-light");
    await ask(page, "I forgot my password");
    expect(await page.locator(".hit").count() === 10, "ten hits");
    expect((await page.locator(".hit h2").allInnerTexts()).slice(0, 3).includes("password-forgotten"), "the right one");
    expect((await page.locator(".hit mark").allInnerTexts()).some((word) => /password/i.test(word)), "marked words");
    expect(/^1 to 10 of 276 hits in \d+ ms/.test(await text(page, "#search-status")), "hits and time");
    expect(page.url().endsWith("#/search?q=I+forgot+my+password"), "the state in the address");
    expect(await page.title() === "I forgot my password · Simile", "the title");
    expect((await page.locator("#modes label").allInnerTexts()).join() === "Both,Meaning,Words", "the index's modes");
    expect((await page.locator(".score-bar i").count()) === 20, "both parts of ten scores");
    await page.locator(".score").first().click();
    expect(/Meaning.*similarity.*Words.*BM25.*password.*Score = /s.test(await text(page, "#why-0")), "how a score was made");
    await picture(page, "search-light");
    await page.click("#share");
    expect((await page.evaluate(() => navigator.clipboard.readText())) === page.url(), "the link is copied");
    await page.selectOption("#count", "5");
    await page.waitForFunction(() => document.querySelectorAll(".hit").length === 5);
    const shared = await newPage(open);
    await shared.goto(page.url());
    await shared.waitForFunction(() => document.querySelectorAll(".hit").length === 5);
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll(".hit").length === 10);
  },

  async "keeps what is typed before the server is known"() {
    const page = await newPage(open);
    await page.route("**/info", async (route) => {
      await new Promise((later) => setTimeout(later, 700));
      await route.continue();
    });
    const known = () => page.waitForFunction(() => document.getElementById("served").textContent !== "");
    for (const [view, field] of [["search", "#query"], ["map", "#map-query"]]) {
      await page.goto("about:blank");
      await page.goto(`${address(open)}#/${view}`);
      await page.fill(field, "forgotten pass");
      await known();
      expect(await page.inputValue(field) === "forgotten pass", `${view}: what was typed stays`);
      expect(!page.url().includes("q="), `${view}: half a query is not asked for`);
    }
    await page.goto("about:blank");
    await page.goto(address(open));
    await page.fill("#query", "forgotten password");
    await page.press("#query", "Enter");
    await page.fill("#query", "forgotten password and");
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    expect(await page.title() === "forgotten password · Simile", "what was entered is asked for");
    expect(await page.inputValue("#query") === "forgotten password and", "and what is typed since stays");
    await page.goto("about:blank");
    await page.goto(`${address(open)}#/search?q=calendar`);
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    expect(await page.inputValue("#query") === "calendar", "a link is shown as it is");
  },

  async "goes by keys"() {
    const page = await newPage(open);
    await ask(page, "the rain fell on the roof, sang walrus and aardvark");
    await page.keyboard.press("ArrowDown");
    expect(await focused(page) === "hit", "down to the first hit");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowUp");
    expect(await focused(page) === "query", "up to the query again");
    await page.locator(".hit", { hasText: "walrus" }).focus();
    const passage = page.locator(".hit", { hasText: "walrus" }).locator(".passage");
    expect((await passage.innerText()).length < 500, "a passage of the long text");
    expect((await passage.locator("mark").allInnerTexts()).join().includes("walrus,sang,aardvark"), "its best one");
    await page.keyboard.press("Enter");
    expect((await passage.innerText()).length > 2000, "the whole of it");
    await picture(page, "whole-text");
    await page.keyboard.press("Escape");
    expect(await focused(page) === "query", "back to the query");
    await page.keyboard.press("Tab");
    await page.locator(".hit").first().focus();
    await page.keyboard.press("/");
    expect(await focused(page) === "query", "/ to the query");
  },

  async "shows what a document says as text"() {
    const page = await newPage(open);
    await ask(page, "<b>aardvark</b> image");
    const hit = page.locator(".hit", { hasText: "onerror" });
    expect((await hit.locator(".passage").innerText()).includes('<img src=x onerror="document.title=1">'), "as it is");
    expect(await page.locator("#hits img, #hits script, #hits b").count() === 0, "no elements of it");
    expect(!["1", "2"].includes(await page.title()), "nothing of it ran");
  },

  async "filters by metadata"() {
    const page = await newPage(open);
    await ask(page, "forgotten password");
    expect((await page.locator(".hit .tag").count()) > 10, "hits have their metadata");
    await picture(page, "metadata-light");
    const before = await page.locator(".hit h2").allInnerTexts();
    await page.click("#filter-part summary");
    await page.fill("#filter", "area in (calendar, contacts) and words < 40");
    await page.press("#filter", "Enter");
    await page.waitForFunction(() => document.getElementById("search-status").textContent.includes("pass the filter") ||
      [...document.querySelectorAll(".hit h2")].every((title) => /^(calendar|contacts)/.test(title.textContent)));
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    expect((await page.locator(".hit h2").allInnerTexts()).every((title) => /^(calendar|contacts)/.test(title)), "only these");
    expect(new URLSearchParams(page.url().split("?")[1]).get("filter") === "area in (calendar, contacts) and words < 40",
      "the filter in the address");
    await picture(page, "filter-light");
    const shared = await newPage(open);
    await shared.goto(page.url());
    await shared.waitForSelector("#hits:not([aria-busy]) .hit");
    expect((await shared.inputValue("#filter")).startsWith("area in"), "the filter from the address");

    await page.fill("#filter", "words >");
    await page.press("#filter", "Enter");
    await page.waitForSelector("#filter-problem:not([hidden])");
    expect(/filter/i.test(await text(page, "#filter-problem")), "what is wrong, where it stands");
    expect(await page.getAttribute("#filter", "aria-invalid") === "true", "the field is marked");
    expect(await page.locator("#search-problem .problem").count() === 0, "and nowhere else");
    await picture(page, "filter-wrong");
    await page.fill("#filter", "aera = calendar");
    await page.press("#filter", "Enter");
    await page.waitForFunction(() => document.getElementById("search-status").textContent.startsWith("Nothing found") ||
      document.getElementById("filter-problem").textContent.includes("aera"));
    await page.fill("#filter", "");
    await page.press("#filter", "Enter");
    await page.waitForFunction((titles) => [...document.querySelectorAll(".hit h2")].map((h) => h.textContent).join() === titles,
      before.join());
    expect(!await page.locator("#filter-problem").isVisible(), "the words go away");

    await page.locator(".hit").first().locator(".tag").first().click();
    await page.waitForFunction(() => location.hash.includes("in.area="));
    const area = before[0].split("-")[0];
    await page.waitForFunction((area) => [...document.querySelectorAll("#chips button")].some(({ textContent }) => textContent.includes(area)), area);
    expect(await page.locator("#facets input:checked").count() === 1, "a value is a filter");
    expect((await page.locator(".hit h2").allInnerTexts()).every((title) => title.startsWith(area)), "that holds");
    await page.fill("#filter", "area = nowhere");
    await page.press("#filter", "Enter");
    await page.waitForFunction(() => document.getElementById("search-status").textContent.startsWith("Nothing found among"));
    await page.goto(`${address(open)}#/search?q=${encodeURIComponent("<b>aardvark</b> image")}`);
    await page.locator(".hit", { hasText: "onerror" }).locator(".tag", { hasText: "it's" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".hit").length === 1);
    expect((await text(page, "#chips")).includes("<i>it's</i>"), "with quotes");
    expect(await page.locator("#hits .tag i, #chips i, #facets label i").count() === 0, "as text");
  },

  async "chooses beside the hits"() {
    const page = await newPage(open);
    await page.waitForSelector("#facets .facet");
    const facet = (name) => page.locator("#facets label", { hasText: name });
    expect(/^calendar\n?\s*15$/.test(await facet("calendar").innerText()), "values have their counts");
    await facet("calendar").locator("input").check();
    await page.waitForFunction(() => document.querySelectorAll(".hit").length === 10);
    expect(/^1 to 10 of 15 documents/.test(await text(page, "#search-status")), "documents without a query");
    await ask(page, "share it with others");
    await page.waitForFunction(() => /^1 to 10 of 15 hits/.test(document.getElementById("search-status").textContent));
    expect(/16/.test(await facet("password").innerText()), "the other values keep their counts");
    await facet("password").locator("input").check();
    await page.waitForFunction(() => /of 31 hits/.test(document.getElementById("search-status").textContent));
    expect(await page.evaluate(() => document.activeElement.dataset.facet) === "area=password", "the focus stays where it was");
    await page.locator("#facets input[type=range]").first().focus();
    for (let i = 0; i < 20; ++i) await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => location.hash.includes("range.words="));
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    expect(/words: \d+ to the most/.test(await text(page, "#chips")), "a range is chosen by keys");
    await picture(page, "facets-light");
    const shared = await newPage(open);
    await shared.goto(page.url());
    await shared.waitForSelector("#hits:not([aria-busy]) .hit");
    expect(await text(shared, "#chips") === await text(page, "#chips"), "what is chosen is in the address");
    for (let i = 3; i > 0; --i) {
      await page.locator("#chips button").first().click();
      await page.waitForFunction((left) => document.querySelectorAll("#chips button").length === left, i - 1);
    }
    await page.waitForFunction(() => /of 276 hits/.test(document.getElementById("search-status").textContent));
  },

  async "goes on: pages, documents like one, and one alone"() {
    const page = await newPage(open);
    await page.locator(".examples a").first().click();
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    await ask(page, "I forgot my password");
    const before = await page.locator(".hit h2").allInnerTexts();
    await page.click("#pages >> text=Next");
    await page.waitForFunction(() => /^11 to 20 of 276/.test(document.getElementById("search-status").textContent));
    expect(!(await page.locator(".hit h2").allInnerTexts()).some((title) => before.includes(title)), "others on the next page");
    expect(page.url().endsWith("&page=2") && await text(page, "#pages [aria-current]") === "2", "the page in the address");
    await page.goBack();
    await page.waitForFunction((first) => document.querySelector(".hit h2").textContent === first, before[0]);
    await page.locator(".hit >> text=More like this").first().click();
    await page.waitForSelector("#like a");
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    expect((await text(page, "#like")).includes(before[0]), "like the first hit");
    expect(!(await page.locator(".hit h2").allInnerTexts()).includes(before[0]), "which is not among them");
    await page.click("#pages >> text=Next");
    await page.waitForFunction(() => /^Hits 11 to 20/.test(document.getElementById("search-status").textContent));
    await page.click("#like a");
    await page.waitForSelector("#document-hits .hit");
    expect(await text(page, "#document-body h2") === before[0], "the document");
    expect(page.url().includes(`#/document?id=${before[0]}`), "has its own address");
    expect(await page.title() === `${before[0]} · Simile`, "and title");
    await picture(page, "document-light");
    const shared = await newPage(open);
    await shared.goto(page.url());
    await shared.waitForSelector("#document-hits .hit");
    await shared.locator("#document-body dd a").first().click();
    await shared.waitForFunction(() => location.hash.includes("in.area="));
    await shared.waitForSelector("#hits:not([aria-busy]) .hit");
    await shared.goto(`${address(open)}#/document?id=gone`);
    await shared.waitForSelector("#document-problem >> text=does not have this");
    await page.keyboard.press("?");
    expect(await page.locator("#help").isVisible(), "? shows the keys");
    await page.keyboard.press("Escape");
    expect(!await page.locator("#help").isVisible(), "Escape closes them");
    await page.goto(`${address(open)}#/search?all=1`);
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    const all = await page.locator(".hit h2").allInnerTexts();
    await page.click("#pages >> text=Next");
    await page.waitForFunction((first) => document.querySelector(".hit h2")?.textContent !== first, all[0]);
  },

  async "compares"() {
    const page = await newPage(open);
    await page.click("nav >> text=Compare");
    await page.fill("#texts", "I lost my password\nforgotten password\n\nthe train to Ghent");
    await page.press("#texts", "Control+Enter");
    await page.waitForSelector("#heat table");
    const values = await page.locator("#heat tbody td").allInnerTexts();
    expect(values.length === 9 && values[0] === "1.00" && values[1] === values[3], "a symmetric table");
    expect(Number(values[1]) > Number(values[2].replace("−", "-")), "like texts are nearer");
    await page.locator("#heat tbody td").nth(1).focus();
    await page.keyboard.press("ArrowRight");
    expect((await text(page, "#heat-cell")).includes("“I lost my password” and “the train to Ghent”"), "the cell in words");
    const link = page.url();
    expect(link.includes("#/compare?t=I+lost"), "the state in the address");
    await page.click("#example");
    await page.waitForFunction(() => document.querySelectorAll("#heat tbody tr").length === 5);
    await page.locator("#heat tbody td").nth(1).hover();
    await picture(page, "compare-light");
    await page.fill("#texts", "alone");
    await page.click("#compare-form >> text=Compare");
    await page.waitForFunction(() => document.getElementById("compare-status").textContent.includes("One more text"));
    await page.goto(link);
    await page.waitForFunction(() => document.querySelectorAll("#heat tbody tr").length === 3);
    await page.click("nav >> text=Search");
    await page.waitForSelector("#texts", { state: "hidden" });
    expect(await page.locator("#query").isVisible(), "the view changes");
  },

  async "maps"() {
    const page = await newPage(open);
    await page.click("nav >> text=Map");
    await page.waitForSelector("#map-body:not([hidden])");
    expect(/^276 documents, in \d+ ms$/.test(await text(page, "#map-status")), "all documents");
    expect(/The two axes show \d+ %.*\d+ % is not to be seen/s.test(await text(page, "#map-note")), "the variance in words");
    await settled(page);
    await picture(page, "map-light");
    const place = await findPoint(page);
    const hovered = await text(page, "#map-tip strong");
    expect((await text(page, "#map-tip")).length > hovered.length + 20, "the text of the one under the mouse");
    await picture(page, "map-hover");
    await page.mouse.click(...place);
    expect(await text(page, "#map-panel h2") === hovered, "a click opens it");
    await page.keyboard.press("Escape");
    expect(!await page.locator("#map-panel").isVisible() && await focused(page) === "map-canvas", "Escape closes it");

    const before = await ink(page);
    await page.mouse.wheel(0, -600);
    await settled(page);
    const near = await ink(page);
    expect(near !== before, "the wheel zooms");
    await drag(page, 80, 40);
    expect(await ink(page) !== near, "dragging moves");
    expect(!await page.locator("#map-panel").isVisible(), "and opens nothing");
    await page.click("#map-fit");

    await page.fill("#map-query", "I forgot my password");
    await page.press("#map-query", "Enter");
    await page.waitForFunction(() => document.querySelectorAll("#map-hits li").length === 10);
    expect(page.url().endsWith("#/map?q=I+forgot+my+password"), "the state in the address");
    expect((await page.locator("#map-hits strong").allInnerTexts()).slice(0, 3).includes("password-forgotten"), "the hits");
    await settled(page);
    await picture(page, "map-query-light");
    const list = await page.locator("#map-hits strong").allInnerTexts();
    await page.locator("#map-hits button").nth(1).hover();
    expect(await text(page, "#map-tip strong") === `2. ${list[1]}`, "a hit of the list is shown on the map");
    await page.focus("#map-query");
    await page.mouse.move(5, 5);
    for (let i = 0; i < 3 && await focused(page) !== "map-canvas"; ++i) await page.keyboard.press("Tab");
    expect(await focused(page) === "map-canvas", "the map is reached by Tab");
    expect((await page.locator("#map-at").textContent()).startsWith(`1. ${list[0]}: `), "the best hit is said first");
    const heard = [];
    for (const key of ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"]) {
      await page.keyboard.press(key);
      heard.push(await page.locator("#map-at").textContent());
    }
    const said = heard.at(-1);
    expect(heard.some((words) => !words.startsWith(`1. ${list[0]}: `)), "arrows go to others");
    await page.keyboard.press("+");
    await settled(page);
    await page.keyboard.press("Enter");
    expect(said.includes(await text(page, "#map-panel h2")), "Enter opens it");
    await picture(page, "map-panel");
    const opened = await text(page, "#map-panel h2");
    await page.click("#map-panel >> text=More like this");
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    expect((await text(page, "#like")).includes(opened), "documents like it");
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll("#map-hits li").length === 10);

    await page.click("#map-fit");
    await page.mouse.move(5, 5);
    await settled(page);
    const plain = await ink(page);
    await page.selectOption("#map-colour", "area");
    expect(await ink(page) !== plain, "documents have colours");
    const legend = await page.locator("#map-colours li").allInnerTexts();
    expect(legend.length === 25 && /^[a-z]+ \(\d+\)$/.test(legend[0]) && legend.at(-1) === "none (1)", `a legend: ${legend}`);
    const coloured = await ink(page);
    await page.click("#map-colours button");
    expect(await ink(page) !== coloured && await page.locator("#map-colours [aria-pressed=true]").count() === 1, "a value alone");
    await page.click("#map-colours button");
    await page.mouse.move(5, 5);
    expect(/Its parts are about .*calendar/.test(await page.getAttribute("#map-canvas", "aria-label")), "topic words");
    await page.uncheck("#map-topics");
    expect(await ink(page) !== coloured, "which are written on it");
    await page.check("#map-topics");
    expect(page.url().endsWith("colour=area"), "the colours in the address");
    await picture(page, "map-colours-light");
    await page.selectOption("#map-colour", "words");
    expect(await page.locator("#map-colours .scale").count() === 1, "many numbers have a scale");
    await picture(page, "map-scale-light");
    await page.selectOption("#map-colour", "area");
    await page.selectOption("#map-layout", "umap");
    await page.waitForFunction(() => document.getElementById("map-note").textContent.includes("UMAP"));
    await page.waitForFunction(() => document.querySelectorAll("#map-hits li").length === 10);
    expect(page.url().includes("layout=umap"), "the layout in the address");
    await settled(page);
    await picture(page, "map-umap-light");
    const arranged = await ink(page);
    const again = await newPage(open);
    await again.goto(page.url());
    await again.waitForFunction(() => document.querySelectorAll("#map-hits li").length === 10);
    await again.waitForTimeout(600);
    expect(await again.inputValue("#map-colour") === "area", "the colours from the address");
    expect(await ink(again) === arranged, "the same layout each time");
    await findPoint(again);
    expect((await text(again, "#map-tip")).includes("area"), "hovering shows the metadata");
    await page.selectOption("#map-layout", "pca");
    await page.waitForFunction(() => !document.getElementById("map-note").textContent.includes("UMAP"));
    await page.waitForSelector("#map:not([aria-busy])");

    await page.fill("#map-query", "calendar");
    await page.route("**/map", (route) => route.fulfill({ status: 503, headers: { "Retry-After": "1" }, json: {} }));
    await page.press("#map-query", "Enter");
    await page.waitForSelector("#map-problem >> text=could not answer in time");
    await page.unroute("**/map");
    await page.click("#map-problem button:enabled");
    await page.waitForSelector("#map-problem .problem", { state: "detached" });
    const without = await newPage(bare);
    await without.goto(`${address(bare)}#/map`);
    await without.waitForFunction(() => document.getElementById("map-status").textContent.includes("no index"));
  },

  async "shows training runs"() {
    const page = await newPage(open);
    await page.click("nav >> text=Runs");
    await page.waitForSelector("#run-report svg[data-x]");
    expect(await text(page, "#runs-status") === "5 runs, 1 of them not finished", "all runs");
    const named = (name) => page.locator("#run-list label", { hasText: name });
    const report = (part) => page.locator(`#run-report section#${part}`);
    const plot = () => page.locator("#run-report svg[data-x]").last();
    const described = (words) => page.locator("#run-report desc", { hasText: words }).first().waitFor({ state: "attached" });
    expect(await named("beta").locator("input").isChecked(), "the last one is chosen");
    await named("alpha").locator("input").check();
    await described("alpha: ");
    const captions = await page.locator("#run-report figcaption").allInnerTexts();
    expect(captions.join() === "dev.spearman,loss", `a chart for each kind: ${captions}`);
    expect(page.url().endsWith("#/runs?run=beta&run=alpha"), "the state in the address");
    const results = await report("results").innerText();
    expect(results.includes("78.00") && results.includes("bm25"), "results");
    expect((await report("runs").innerText()).includes("verdict: dev spearman 30.0 -> 78"), "the verdict");
    await page.mouse.move(5, 5);
    await settled(page);
    await picture(page, "runs-light");
    await described(/beta: .* at step 150/);

    appendFileSync(`${runs}/beta/metrics.jsonl`, '{"stage":"sts","step":151,"epoch":0.8,"loss":0.125,"gradient_norm":1,' +
      '"learning_rate":0.001}\n{"stage":"sts","step":152,"ep');
    await described("beta: 0.125 at step 151");
    await page.check("#run-all");
    await page.waitForFunction(() => document.querySelector("#run-report").shadowRoot.querySelectorAll("figure").length === 5);
    await page.selectOption("#run-smooth", "25");
    expect(page.url().endsWith("all=1&smooth=25"), "what is shown in the address");
    await plot().hover();
    await page.waitForSelector("#run-report figcaption .at-pointer");
    expect(/at \d+: beta [\d.]+, alpha [\d.]+/.test(await page.locator("#run-report .plots").last().innerText()), "the values at the pointer");
    await settled(page);
    await page.screenshot({ path: `${pictures}/runs-all.png`, fullPage: true });
    await page.uncheck("#run-all");

    await page.waitForFunction(() => document.querySelector("#run-report").shadowRoot.querySelectorAll("figure").length === 2);
    await plot().scrollIntoViewIfNeeded();
    const box = await plot().boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
    await page.mouse.up();
    await page.waitForFunction(() => /steps=\d+-\d+$/.test(location.hash));
    const [from, to] = page.url().match(/\d+-\d+$/)[0].split("-").map(Number);
    await page.locator(`#run-report svg[data-x^="${from} ${to} "]`).first().waitFor();
    await picture(page, "runs-zoomed");
    await plot().dblclick();
    await page.waitForFunction(() => !location.hash.includes("steps="));

    await page.check("#run-errors");
    await report("errors").locator("li").first().waitFor();
    const worst = await report("errors").locator("li").first().innerText();
    expect(worst.includes("<b>Left</b> text 7") || worst.includes("by gold"), "the worst error, as text");
    expect(await report("errors").locator("li").count() <= 20, "not all of them");
    await report("errors").scrollIntoViewIfNeeded();
    await picture(page, "runs-errors");

    await named("beta").locator("input").uncheck();
    await named("broken").locator("input").focus();
    await page.keyboard.press("Space");
    await report("runs").locator(".missing", { hasText: "results.json" }).waitFor();
    const complaint = await report("runs").innerText();
    expect(complaint.includes("metrics.jsonl") && !complaint.includes("/tmp"), `what is damaged, without where it lies: ${complaint}`);
    expect(complaint.includes("verdict: dev spearman 30.0 -> 78"), "and the others");
    expect(await page.evaluate(() => document.activeElement.value) === "broken", "the focus stays where it was");
    await picture(page, "runs-broken");
    rmSync(`${runs}/broken`, { recursive: true });
    await page.waitForFunction(() => document.getElementById("runs-status").textContent.startsWith("4 runs"));

    const shared = await newPage(open);
    await shared.goto(`${address(open)}#/runs?run=seeds%2Frun-1&run=seeds%2Frun-2&run=gone`);
    await shared.locator("#run-report desc", { hasText: "seeds/run-2" }).first().waitFor({ state: "attached" });
    await shared.locator("#run-differences tbody tr").first().waitFor();
    expect(/spearman\s+76.00\s+75.00\s+−1.00/.test(await text(shared, "#run-differences")), "what one gains on the other");
    await picture(shared, "runs-differences");
    await shared.route("**/runs", (route) => route.fulfill({ status: 429, headers: { "Retry-After": "1" }, json: {} }));
    await shared.waitForSelector("#runs-problem >> text=The server is busy");
    await picture(shared, "runs-busy");
    await shared.unroute("**/runs");
    await shared.click("#runs-problem button:enabled");
    await shared.waitForSelector("#runs-problem .problem", { state: "detached" });
    await shared.route("**/runs", (route) => route.abort());
    await shared.waitForSelector("#runs-problem >> text=The server does not answer");
    await shared.unroute("**/runs");
    await shared.route("**/runs", (route) => route.fulfill({ status: 401, json: { error: "no", error_type: "Unauthorized" } }));
    await shared.click("#runs-problem button");
    await shared.waitForSelector("#runs-problem >> text=asks for an API key");
    const without = await newPage(bare);
    expect(!await without.locator("#runs-link").isVisible(), "no link where there are no runs");
    await without.goto(`${address(bare)}#/runs`);
    await without.waitForFunction(() => document.getElementById("runs-status").textContent.includes("--runs DIR"));
  },

  async "maps on a phone, in the dark, and where nothing is to move"() {
    for (const [name, options] of Object.entries({
      dark: { colorScheme: "dark" }, phone: { viewport: kPhone, isMobile: true, hasTouch: true },
      "phone-dark": { viewport: kPhone, colorScheme: "dark", isMobile: true, hasTouch: true, reducedMotion: "reduce" },
    })) {
      const page = await newPage(open, options);
      await page.goto(`${address(open)}#/map?q=${encodeURIComponent("change the colours of my calendar")}&colour=area`);
      await page.waitForFunction(() => document.querySelectorAll("#map-hits li").length === 10);
      await settled(page);
      await picture(page, `map-${name}`);
      if (options.hasTouch) {
        const before = await ink(page);
        await pinch(page);
        expect(await ink(page) !== before, `${name}: two fingers zoom`);
        await picture(page, `map-${name}-near`);
        await page.locator("#map-hits button").first().tap();
        await settled(page);
        expect(await page.locator("#map-panel").isVisible(), `${name}: a tap opens`);
        await page.locator("#map-panel").screenshot({ path: `${pictures}/map-${name}-panel.png` });
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide <= 0, `${name}: the page is no wider than the screen, but by ${wide}`);
    }
  },

  async "is dark, and fits a phone"() {
    for (const [name, options] of Object.entries({
      dark: { colorScheme: "dark" }, phone: { viewport: kPhone, isMobile: true, hasTouch: true },
      "phone-dark": { viewport: kPhone, colorScheme: "dark", isMobile: true },
    })) {
      const page = await newPage(open, options);
      await ask(page, "how can I get back in, I forgot the password of my account");
      await picture(page, `search-${name}`);
      await page.click("nav >> text=Compare");
      await page.click("#example");
      await page.waitForSelector("#heat table");
      await picture(page, `compare-${name}`);
      await page.goto(`${address(open)}#/runs?run=alpha&run=beta`);
      await page.locator("#run-report desc", { hasText: "beta" }).first().waitFor({ state: "attached" });
      await settled(page);
      await page.screenshot({ path: `${pictures}/runs-${name}.png`, fullPage: true });
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(beyond <= 0, `${name}: runs are no wider than the screen, but by ${beyond}`);
      await page.route("**/search", (route) => route.fulfill({ status: 429, headers: { "Retry-After": "7" }, json: {} }));
      await page.goto(`${address(open)}#/search?q=busy`);
      await page.waitForSelector(".problem");
      await picture(page, `error-${name}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide <= 0, `${name}: the page is no wider than the screen, but by ${wide}`);
    }
  },

  async "asks for the mode that is chosen"() {
    const page = await newPage(open);
    const bodies = [];
    await page.route("**/info", (route) => route.fulfill({ json: {
      model_id: "tiny", documents: 2, dimensions: 8, similarity: "cosine", search_modes: ["hybrid", "vector", "lexical"] } }));
    await page.route("**/search", (route) => {
      bodies.push(route.request().postDataJSON());
      return route.fulfill({ json: { results: [{ hits: [
        { id: "a-1", title: "Forgotten passwords", text: "Reset a password.", score: 0.0325, vector_score: 0.71, lexical_score: 12.34 },
        { id: "a-2", text: "A bill.", score: 0.0161, vector_score: 0.2, lexical_score: null }] }] } });
    });
    await page.reload();
    await ask(page, "password");
    expect(bodies[0].mode === "hybrid", "the first mode is the usual one");
    for (const score of await page.locator(".score").all()) await score.click();
    const parts = (await page.locator(".why").allInnerTexts()).map((words) => words.replace(/\s+/g, " "));
    expect(parts[0].includes("similarity 0.710") && parts[0].includes("BM25 12.3") && parts[1].includes("BM25 –"), `both parts: ${parts}`);
    await picture(page, "modes-light");
    await page.click("#modes >> text=Words");
    await page.waitForFunction(() => location.hash.includes("mode=lexical"));
    await page.waitForSelector("#hits:not([aria-busy]) .hit");
    expect(bodies.at(-1).mode === "lexical", "the chosen mode is asked for");
  },

  async "asks for a key"() {
    const page = await newPage(guarded);
    await page.waitForSelector(".problem >> text=asks for an API key");
    expect(await focused(page) === "key", "the field has the focus");
    await picture(page, "key-light");
    await page.fill("#key", "guess");
    await page.press("#key", "Enter");
    await page.waitForSelector(".problem >> text=does not know this API key");
    await page.fill("#key", "sesame");
    await page.press("#key", "Enter");
    await page.waitForSelector(".problem", { state: "detached" });
    await ask(page, "forgotten password");
    await page.reload();
    await ask(page, "forgotten password");
    await page.click("#key-open");
    await page.click("#key-forget");
    await page.waitForSelector(".problem >> text=asks for an API key");
  },

  async "says what is wrong"() {
    const page = await newPage(open);
    await page.fill("#query", "long ".repeat(1000));
    await page.press("#query", "Enter");
    await page.waitForSelector(".problem >> text=This is too long");
    expect(await page.locator(".problem button").count() === 0, "trying again would not help");
    for (const [status, words] of [[429, "The server is busy"], [503, "could not answer in time"]]) {
      await page.route("**/search", (route) => route.fulfill({
        status, headers: { "Retry-After": "2" }, json: { error: "overloaded", error_type: "Overloaded" } }));
      await page.fill("#query", `question ${status}`);
      await page.press("#query", "Enter");
      await page.waitForSelector(`.problem >> text=${words}`);
      expect(/Try again in [12] s/.test(await text(page, ".problem button")), "the seconds that it asks for");
      await picture(page, `error-${status}`);
      await page.unroute("**/search");
      await page.waitForSelector(".problem button:enabled");
      await page.click(".problem button");
      await page.waitForSelector("#hits:not([aria-busy]) .hit");
      expect(await page.locator(".problem").count() === 0, "the words go away");
    }
    const without = await newPage(bare);
    await without.waitForFunction(() => document.getElementById("search-status").textContent.includes("no index"));
    await without.fill("#query", "anything");
    await without.press("#query", "Enter");
    await without.waitForSelector(".problem >> text=The server cannot do this");
    await picture(without, "no-index");
  },

  async "is for all: no finding of axe in 12 views, as it is, dark, small, and in the system's colours"() {
    if (!existsSync(axePath)) return console.log("skipped: no axe-core beside playwright-core");
    const query = "forgot+my+password";
    const opening = (selector) => async (page) => page.evaluate((what) => { document.querySelector(what).open = true; }, selector);
    const views = {
      start: ["", ".examples"], search: [`search?q=${query}`, ".hit"],
      why: [`search?q=${query}`, ".hit", (page) => page.locator(".score").first().click()],
      filtered: [`search?q=${query}&in.area=calendar&range.words=30..40&page=1`, ".hit", opening("#facets")],
      wrong: [`search?q=${query}&filter=words+%3E`, "#filter-problem:not([hidden])"], like: ["search?like=password-forgotten", ".hit"],
      document: ["document?id=password-forgotten", "#document-hits .hit"], help: ["search", ".examples", (page) => page.click("#help-open")],
      compare: ["compare?t=one&t=two&t=three", "#heat table"], map: [`map?q=${query}&colour=area`, "#map-hits li"],
      "map-open": [`map?q=${query}&colour=area`, "#map-hits li", (page) => page.locator("#map-hits button").first().click()],
      runs: ["runs?run=alpha&run=seeds%2Frun-1", "#run-differences table"],
    };
    const modes = { light: {}, dark: { colorScheme: "dark" }, small: { viewport: kSmall, isMobile: true, hasTouch: true },
      forced: { forcedColors: "active", colorScheme: "dark" } };
    const found = [];
    for (const [mode, options] of Object.entries(modes)) {
      const page = await newPage(open, { bypassCSP: true, reducedMotion: "reduce", ...options });
      for (const [view, [hash, there, then]] of Object.entries(views)) {
        await page.goto("about:blank");
        await page.goto(`${address(open)}${hash && `#/${hash}`}`);
        await page.locator(there).first().waitFor();
        if (then) await then(page);
        await page.waitForTimeout(250);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) found.push(`${view}, ${mode}: too wide by ${wide}`);
        await page.evaluate(readFileSync(axePath, "utf8"));
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        found.push(...violations.map(({ id, nodes }) => `${view}, ${mode}: ${id} at ${nodes[0].target.join(" ")}`));
        await page.screenshot({ path: `${pictures}/${view}-${mode}.png` });
      }
      await page.context().close();
    }
    expect(found.length === 0, found.join("; "));
  },

  async "says that the server is down"() {
    const page = await newPage(open);
    await ask(page, "forgotten password");
    process.kill(Number(first));
    await page.waitForTimeout(500);
    await page.fill("#query", "calendar");
    await page.press("#query", "Enter");
    await page.waitForSelector(".problem >> text=The server does not answer");
    await picture(page, "down-light");
  },
};

let failed = false;
for (const [name, step] of Object.entries(steps)) {
  complaints.length = 0;
  try {
    await step();
    expect(complaints.length === 0, complaints.join("; "));
    console.log(`passed: ${name}`);
  } catch (error) {
    failed = true;
    console.error(`FAILED: ${name}: ${error.message}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
