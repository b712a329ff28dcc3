"use strict";
// The gallery: an index to filter by, parts with texts that are loaded when they are needed, and a
// page of tiles, so that the document stays small whatever the number of items.
{
const PAGE = 24;
const parts = new Map();  // number -> its items, or the promise of them
let index = null, found = [], page = 0, opened = -1, run = 0;
const form = document.getElementById("filters");
const tiles = document.getElementById("tiles");
const pager = document.getElementById("pager");
const dialog = document.getElementById("detail");
const status = document.getElementById("status");
window.bindbench = {
  index: (data) => { index = data; },
  part: (number, items) => { parts.set(number, items); },
};

const element = (name, attributes = {}, ...inner) => {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...inner);
  return made;
};

const load = (path) => new Promise((resolve, reject) => {
  const script = element("script", {src: path});
  script.addEventListener("load", () => { script.remove(); resolve(); });
  script.addEventListener("error", () => reject(new Error(`${path} can't be read`)));
  document.head.append(script);
});

const partOf = (item) => Math.floor(item / index.part);

const need = async (number) => {
  if (!parts.has(number)) parts.set(number, load(`gallery/part-${number}.js`));
  if (parts.get(number) instanceof Promise) await parts.get(number);
};

const textsOf = (item) => parts.get(partOf(item))[item % index.part];

// Filters.
const codes = (list) => new Map(list.map(([key], code) => [key, code]));

const fitting = (want) => {
  const benchmark = codes(index.benchmarks).get(want.benchmark);
  const track = codes(index.tracks).get(want.track);
  const verdict = codes(index.verdicts).get(want.verdict);
  const family = codes(index.families).get(want.family);
  const model = index.models.indexOf(want.model);
  const accepted = codes(index.verdicts).get("accepted");
  const both = new Map();
  if (want.paired) index.verdict.forEach((code, item) => {
    const concept = `${index.benchmark[item]}/${index.index[item]}`;
    if (code === accepted) both.set(concept, (both.get(concept) ?? 0) + 1);
  });
  const outcome = (item) => {
    if (!want.outcome && model < 0) return true;
    const wanted = {wrong: "0", right: "1"}[want.outcome];
    const models = model < 0 ? index.models.map((_, code) => code) : [model];
    const letters = models.map((code) => index.won[family]?.[code][item]);
    return letters.some((letter) => wanted ? letter === wanted : letter !== ".");
  };
  return [...index.verdict.keys()].filter((item) =>
    (!want.benchmark || index.benchmark[item] === benchmark)
    && (!want.track || index.track[item] === track)
    && (!want.verdict || (want.verdict === "rejected" ? index.verdict[item] !== accepted
      : index.verdict[item] === verdict))
    && (!want.paired || both.get(`${index.benchmark[item]}/${index.index[item]}`) === 2)
    && outcome(item));
};

const searched = async (items, text, mine) => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return items;
  const numbers = [...new Set(items.map(partOf))];
  for (const [i, number] of numbers.entries()) {
    if (mine !== run) return items;
    if (!Array.isArray(parts.get(number))) status.textContent = `Searching: part ${i + 1} of ${numbers.length}`;
    await need(number);
  }
  return items.filter((item) => {
    const one = textsOf(item);
    one.all ??= [one.caption, one.scored, one.other, one.reason, one.id, ...one.texts].join(" ").toLowerCase();
    return words.every((word) => one.all.includes(word));
  });
};

const wanted = () => {
  const fields = Object.fromEntries(new FormData(form));
  return {...fields, paired: form.elements.paired.checked};
};

const remember = () => {
  const want = wanted(), hash = new URLSearchParams();
  ["benchmark", "track", "verdict", "model", "outcome", "text"].forEach((name) => {
    if (want[name]) hash.set(name, want[name]);
  });
  if (want.family && (want.model || want.outcome)) hash.set("family", want.family);
  if (want.paired) hash.set("paired", "1");
  if (opened >= 0) hash.set("item", nameOf(opened));
  history.replaceState(null, "", `#${hash}`);
};

const nameOf = (item) => [index.benchmarks[index.benchmark[item]][0], index.index[item],
  index.tracks[index.track[item]][0]].join("/");

const filter = async () => {
  const mine = ++run;
  const items = await searched(fitting(wanted()), form.elements.text.value, mine);
  if (mine !== run) return;
  found = items;
  page = 0;
  remember();
  await show();
};

// Tiles.
const picture = (one) => {
  const shot = element("span", {class: "shot"});
  if (one.file) {
    const image = element("img", {src: one.file, alt: "", loading: "lazy"});
    if (one.size[0]) { image.width = one.size[0]; image.height = one.size[1]; }
    shot.append(image);
  } else shot.append(element("span", {class: "none"}, "No image was made"));
  one.boxes.forEach(([label, left, top, right, bottom]) => shot.append(element("span", {class: "box",
    style: `left:${100 * left}%;top:${100 * top}%;right:${100 - 100 * right}%;bottom:${100 - 100 * bottom}%`},
  element("span", {}, label))));
  return shot;
};

const state = (item) => {
  const [key, title] = index.verdicts[index.verdict[item]];
  const good = key === "accepted";
  return element("span", {class: `state ${good ? "ok" : "no"}`}, `${good ? "✓" : "✗"} ${title}`);
};

const heading = (item) =>
  `${index.benchmarks[index.benchmark[item]][1]}, ${index.tracks[index.track[item]][1].toLowerCase()}`;

const verdictOn = (right) => right === null ? ["soft", "no false caption"] : right ? ["state ok", "✓ right"] : ["state no", "✗ wrong"];

const choice = (one) => {
  const model = index.models.indexOf(form.elements.model.value);
  const own = one.chose.find(([code]) => code === model);
  if (!own) {
    const judged = one.chose.filter(([code, , right]) => right !== null && code < index.real);
    return judged.length ? element("span", {class: "small soft"},
      `${judged.filter(([, , right]) => right).length} of ${judged.length} models right`) : "";
  }
  const [style, said] = verdictOn(own[2]);
  return element("span", {class: "small"}, element("span", {class: style}, said), ` ${one.texts[own[1]]}`);
};

const tile = (item) => {
  const one = textsOf(item);
  const shot = picture(one);
  shot.classList.toggle("rejected", index.verdicts[index.verdict[item]][0] !== "accepted");
  const button = element("button", {type: "button", "data-item": item, "aria-haspopup": "dialog"}, shot,
    element("span", {class: "small soft"}, heading(item)), " ", state(item),
    element("span", {}, one.caption), choice(one));
  return element("li", {}, button);
};

const show = async () => {
  const mine = run;
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  const items = found.slice(page * PAGE, (page + 1) * PAGE);
  await Promise.all([...new Set(items.map(partOf))].map(need));
  if (mine !== run) return;
  tiles.replaceChildren(...items.map(tile));
  const count = (number) => number.toLocaleString("en");
  status.textContent = `${count(found.length)} of ${count(index.verdict.length)} items`;
  pager.hidden = pages < 2;
  pager.querySelector("span").textContent = `Page ${count(page + 1)} of ${count(pages)}`;
  pager.querySelector("[data-step='-1']").disabled = page === 0;
  pager.querySelector("[data-step='1']").disabled = page === pages - 1;
};

const turn = async (step) => {
  page += step;
  await show();
};

// One item.
const term = (name, ...inner) => [element("dt", {}, name), element("dd", {}, ...inner)];

const detail = (item) => {
  const one = textsOf(item), shot = picture(one), list = element("dl", {class: "terms"});
  shot.querySelector("img")?.setAttribute("alt", one.caption);
  const checks = element("ul", {class: "checks"}, ...one.checks.map(([name, said]) => element("li",
    {class: said === "pass" ? "pass" : said === "not_run" ? "" : "fail"},
    said === "pass" ? `✓ ${name}` : said === "not_run" ? `– ${name}: not run` : `✗ ${name}: ${said}`)));
  list.append(...term("Caption of the picture", one.caption));
  if (one.scored && one.scored !== one.caption) list.append(...term("Caption that models were given", one.scored));
  if (one.other) list.append(...term("Caption in the other track", one.other));
  list.append(...term("Checks", state(item), checks), ...(one.reason ? term("Reason", one.reason) : []));
  const rows = one.chose.map(([model, text, right]) => {
    const [style, said] = verdictOn(right);
    return element("tr", {}, element("th", {scope: "row"}, index.models[model]),
      element("td", {class: style}, said), element("td", {}, one.texts[text]));
  });
  const heads = ["Model", "Strict", "Chosen caption"].map((name) => element("th", {scope: "col"}, name));
  const table = element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Chosen captions"},
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows)));
  const none = element("p", {class: "soft"}, "No model was asked: only accepted pictures are scored.");
  return [element("div", {class: "detail"}, shot, list), rows.length ? table : none];
};

const open = async (item) => {
  opened = item;
  await need(partOf(item));
  document.getElementById("detail-title").textContent = `${heading(item)}, no. ${index.index[item]}`;
  document.getElementById("detail-body").replaceChildren(...detail(item));
  const place = found.indexOf(item);
  dialog.querySelector("[data-step='-1']").disabled = place <= 0;
  dialog.querySelector("[data-step='1']").disabled = place < 0 || place === found.length - 1;
  if (!dialog.open) dialog.showModal();
  document.getElementById("detail-title").focus();
  remember();
};

const step = (by) => {
  const next = found[found.indexOf(opened) + by];
  if (next !== undefined && found.includes(opened)) open(next);
};

const focusOn = (item) => {
  const button = tiles.querySelector(`[data-item="${item}"]`);
  (button ?? tiles.querySelector("button"))?.focus();
};

dialog.addEventListener("close", async () => {
  const last = opened;
  opened = -1;
  remember();
  const there = Math.floor(found.indexOf(last) / PAGE);
  if (there >= 0 && there !== page) { page = there; await show(); }
  focusOn(last);
});
dialog.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (event.target === dialog || button?.hasAttribute("data-close")) dialog.close();
  else if (button?.dataset.step) step(Number(button.dataset.step));
});
dialog.addEventListener("keydown", (event) => {
  if (event.target.closest(".scroll")) return;  // there the arrows scroll
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") step(event.key === "ArrowLeft" ? -1 : 1);
});
tiles.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) open(Number(button.dataset.item));
});
tiles.addEventListener("keydown", async (event) => {
  const columns = getComputedStyle(tiles).gridTemplateColumns.split(" ").length;
  const by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[event.key];
  const button = event.target.closest("button");
  if (!by || !button) return;
  event.preventDefault();
  const place = found.indexOf(Number(button.dataset.item)) + by;
  if (place < 0 || place >= found.length) return;
  const there = Math.floor(place / PAGE);
  if (there !== page) { page = there; await show(); }
  focusOn(found[place]);
});
pager.addEventListener("click", (event) => {
  const by = event.target.closest("button")?.dataset.step;
  if (by) turn(Number(by)).then(() => tiles.scrollIntoView());
});

// The form, and the address: a link from a number sets the filters.
const options = (name, list) => form.elements[name].append(
  ...list.map(([value, title]) => element("option", {value}, title)));

const restore = () => {
  const hash = new URLSearchParams(location.hash.slice(1));
  ["benchmark", "track", "verdict", "model", "family", "outcome", "text"].forEach((name) => {
    if (hash.has(name)) form.elements[name].value = hash.get(name);
    else if (name === "family") form.elements.family.selectedIndex = Math.max(0, index.families.findIndex(([key]) => key === "confusion"));
    else form.elements[name].value = "";
  });
  form.elements.paired.checked = hash.has("paired");
  const item = hash.get("item");
  return item ? [...index.verdict.keys()].find((one) => nameOf(one) === item) : undefined;
};

const start = async () => {
  const item = restore();
  await filter();
  if (item !== undefined) await open(item);
};

let waiting = 0;
form.addEventListener("input", (event) => {
  tiles.classList.toggle("noboxes", !form.elements.boxes.checked);
  if (event.target.name === "boxes") return;
  clearTimeout(waiting);
  waiting = setTimeout(filter, event.target.name === "text" ? 200 : 0);
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => { history.replaceState(null, "", "#"); start(); }));
window.addEventListener("hashchange", start);
window.addEventListener("error", (event) => { status.textContent = event.message; });
load("gallery/index.js").then(() => {
  options("benchmark", index.benchmarks);
  options("track", index.tracks);
  options("verdict", index.verdicts);
  options("family", index.families);
  options("model", index.models.map((name) => [name, name]));
  return start();
}).catch((error) => { status.textContent = `The gallery can't be shown: ${error.message}.`; });
}
