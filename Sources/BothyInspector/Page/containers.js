// Containers: how far each was pulled, what is pending in it, who syncs.

import { h } from "./dom.js";
import { badge, clock, empty, number, table, when } from "./format.js";

export default {
  events: ["store", "timeline"],
  title: () => "Containers",
  load: ({ get, signal }) => get("/api/containers", {}, signal),
  render({ summary }, data) {
    return [
      h("p", { class: "lead" }, "A container is pulled as one. Its cursor is the position of the last complete pull in the server's history, and the next pull continues there."),
      data.containers.length
        ? table("Containers", ["Container", "State", "Last pull", { text: "Pending", class: "num" }, "Cursor"], data.containers.map((container) =>
          h("tr", { key: `${container.container} ${container.children}` },
            h("th", { scope: "row" }, container.container || "Everything", container.children && container.container ? h("span", { class: "dim" }, " and below") : null),
            h("td", null, container.syncing ? badge("syncing", "info") : container.filling ? badge("filling", "wait")
              : container.complete ? badge("complete", "good") : badge("never pulled", "plain"),
              container.followed ? null : [" ", badge("no subscription", "plain")]),
            h("td", { class: "nowrap" }, when(container.pulledAt, summary?.now)),
            h("td", { class: "num" }, number(container.pending)),
            h("td", null, container.cursor ? h("code", { class: "clip", title: container.cursor }, container.cursor) : h("span", { class: "none" }, "none")))))
        : empty("Nothing was pulled yet.", "After the first sync each container with a subscription is listed here, with its cursor and the time of its last pull."),
      h("section", { "aria-labelledby": "locks" },
        h("h2", { id: "locks" }, "Locks"),
        data.lease
          ? h("p", null, badge("syncing", "info"), ` Process ${data.lease.process} syncs this file and says so until ${clock(data.lease.until)}; each round trip renews it.`)
          : h("p", null, "No process syncs this file now."),
        h("p", { class: "dim" }, "Counts of writes under way, which a sync waits for, are in the memory of the process that writes and can't be seen from here.")),
      h("section", { "aria-labelledby": "work" },
        h("h2", { id: "work" }, "With something to send"),
        data.needingSync.length ? h("p", null, data.needingSync.map((name) => [badge(name, "wait"), " "]))
          : h("p", { class: "dim" }, "None: no container has changes that can be sent now.")),
    ];
  },
};
