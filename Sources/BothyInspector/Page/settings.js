// Groups of settings, as the files have them now.

import { h } from "./dom.js";
import { badge, empty, plural, table, value } from "./format.js";

const same = (left, right) => JSON.stringify(left ?? null) === JSON.stringify(right ?? null);

function group(found) {
  const changed = found.fields.filter((field) => !same(found.values[field.name], field.default)).length;
  return h("article", { key: found.group, class: "card" },
    h("header", null, h("h3", null, found.group),
      h("span", { class: "dim" }, `version ${found.version}, ${plural(changed, "value")} set`)),
    table(`Settings of ${found.group}`, ["Setting", "Kind", "Value", "Default"], found.fields.map((field) => {
      const isSet = !same(found.values[field.name], field.default);
      return h("tr", { key: field.name }, h("th", { scope: "row" }, field.name), h("td", { class: "dim" }, field.kind),
        h("td", null, value(found.values[field.name], field.kind), isSet ? [" ", badge("set", "info")] : null),
        h("td", { class: "dim" }, value(field.default, field.kind)));
    })));
}

export default {
  events: ["settings"],
  title: () => "Settings",
  load: ({ get, signal }) => get("/api/settings", {}, signal),
  render(context, data) {
    const files = data.files.filter((file, index) => file.groups.length || index > 0);
    return [
      h("p", { class: "lead" }, "Groups of settings that apps share. A value that differs from its default is marked; changes by any process show at once."),
      files.length ? files.map((file) => h("section", { key: file.path, "aria-label": file.path },
        h("h2", null, h("code", null, file.path)),
        file.groups.length ? file.groups.map(group) : empty("No groups yet.", "An app makes a group when it first reads it; it is listed here with its values.")))
        : empty("No settings.", "This database holds none. Name a file that does with --settings FILE, and its groups and values are shown here."),
    ];
  },
};
