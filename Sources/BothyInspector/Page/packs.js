// Read-only records that came with the app, or were installed.

import { h } from "./dom.js";
import { bytes, empty, facts, number, plural, table } from "./format.js";

function pack(found, index) {
  if (found.problem) {
    return h("article", { key: found.folder, class: "card" }, h("h2", null, h("code", null, found.folder)),
      h("p", { class: "failure" }, found.problem));
  }
  return h("article", { key: found.folder, class: "card", "aria-labelledby": `pack${index}` },
    h("header", null, h("h2", { id: `pack${index}` }, found.name), h("span", { class: "dim" }, `version ${found.version}`)),
    facts([["Rows", number(found.rows)], ["Size", bytes(found.bytes)], ["Files", number(found.files)],
      ["Digest", h("code", { title: found.digest }, found.digest.slice(0, 16))]]),
    table(`Types of ${found.name}`, ["Type", { text: "Rows", class: "num" }, "Split by", "Fields"], found.types.map((type) =>
      h("tr", { key: type.name }, h("th", { scope: "row" }, type.name), h("td", { class: "num" }, number(type.count)),
        h("td", null, type.splitBy ?? h("span", { class: "none" }, "–")),
        h("td", { class: "dim" }, type.fields.map((field) => `${field.name} ${field.kind}${field.optional ? "?" : ""}`).join(", "))))),
    h("p", { class: "dim small" }, h("code", null, found.folder)));
}

export default {
  events: ["packs"],
  title: () => "Packs",
  load: ({ get, signal }) => get("/api/packs", {}, signal),
  render: (context, data) => [
    h("p", { class: "lead" }, data.packs.length ? `${plural(data.packs.filter((each) => !each.problem).length, "pack")} in the folders that were named.` : "Read-only records that ship with an app."),
    data.packs.length ? data.packs.map(pack)
      : empty("No packs were named.", "Start the inspector with --packs DIR, and each pack in it is shown here: its version, types, rows and files."),
  ],
};
