// The operator's page: its sections and their surroundings.

import { h, patch } from "./dom.js";
import { when } from "./format.js";
import { brand, keepingFocus, liveness, lost, navigation, Shell, status } from "./shell.js";
import spaces from "./operatorspaces.js";
import { limits, refusals, servers, storage } from "./operatorservers.js";
import { overview, upkeep, webhooks } from "./operatorwork.js";

const views = { overview, spaces, refusals, limits, webhooks, upkeep, storage, servers };
const sections = [
  ["overview", "Overview"], ["spaces", "Spaces"], ["refusals", "Refusals"], ["limits", "Limits"],
  ["webhooks", "Feed and webhooks"], ["upkeep", "Upkeep"], ["storage", "Storage"], ["servers", "Servers"],
];

function drawFrame(shell) {
  const { summary, isLive } = shell;
  const away = summary?.servers.filter((server) => server.awaySince !== null) ?? [];
  const count = summary?.servers.length ?? 0;
  patch(document.getElementById("top"), [
    brand("Bothy operator", "Bothy operator, overview"),
    h("span", { class: "file", title: summary?.database }, summary?.database ? summary.database.split("/").pop() : ""),
    h("span", { class: "grow" }),
    count > 0 && status(!away.length, away.length ? `${away.length} of ${count} ${count === 1 ? "server" : "servers"} away`
      : count === 1 ? "Server answers" : `${count} servers answer`, { id: "answering" }),
    liveness(isLive),
  ]);
  const counts = summary ? {
    spaces: summary.spaces, upkeep: summary.due, servers: away.length,
    webhooks: summary.webhooks.reduce((sum, hook) => sum + hook.failing, 0),
  } : {};
  patch(document.getElementById("nav"), navigation(sections, "overview", shell.current?.route.name, counts, ["servers", "webhooks"]));
  keepingFocus(() => patch(document.getElementById("banners"), [
    lost(shell, "The page's program", "bothy admin page"),
    summary?.databaseProblem && h("div", { key: "database", class: "banner bad", role: "status" },
      h("strong", null, summary.databaseProblem), " It is asked again by itself."),
    ...away.map((server) => h("div", { key: server.url, class: "banner bad", role: "status" },
      h("strong", null, `${server.url} has not answered `, "since ", when(server.awaySince), ". "), server.problem)),
  ]));
}

new Shell({
  views, first: "overview", summary: "/api/operator/overview", summaryEvents: ["operator"], suffix: "Bothy operator",
  events: ["operator"], draw: drawFrame,
}).start();
