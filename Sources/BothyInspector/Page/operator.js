// The operator's page: its sections, and what is around each of them.

import { h, patch } from "./dom.js";
import { clock, when } from "./format.js";
import { keepingFocus, navigation, Shell } from "./shell.js";
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
    h("a", { class: "brand", href: "#/", "aria-label": "Bothy operator, overview" },
      h("img", { src: "/assets/icon.svg", alt: "", width: "26", height: "26" }), h("span", null, "Bothy operator")),
    h("span", { class: "file", title: summary?.database }, summary?.database ? summary.database.split("/").pop() : ""),
    h("span", { class: "grow" }),
    count > 0 && h("span", { class: `status ${away.length ? "off" : "on"}`, id: "answering" }, h("i", { "aria-hidden": "true" }),
      away.length ? `${away.length} of ${count} ${count === 1 ? "server" : "servers"} away` : count === 1 ? "Server answers" : `${count} servers answer`),
    h("span", { class: `status ${isLive ? "on" : "off"}`, id: "liveness" }, h("i", { "aria-hidden": "true" }), isLive ? "Live" : "Lost"),
  ]);
  const counts = summary ? {
    spaces: summary.spaces, upkeep: summary.due, servers: away.length,
    webhooks: summary.webhooks.reduce((sum, hook) => sum + hook.failing, 0),
  } : {};
  patch(document.getElementById("nav"), navigation(sections, "overview", shell.current?.route.name, counts, ["servers", "webhooks"]));
  keepingFocus(() => patch(document.getElementById("banners"), [
    isLive ? null : h("div", { key: "lost", class: "banner bad", role: "alert", id: "offline" },
      h("strong", null, "The page's program does not answer. "),
      `What you see is as it was at ${clock(shell.lostAt)}. It is followed again as soon as it is back; if it was stopped, run `,
      h("code", null, "bothy admin page"), " again and open the address that it prints."),
    summary?.databaseProblem && h("div", { key: "database", class: "banner bad", role: "status" },
      h("strong", null, summary.databaseProblem), " It is asked again by itself."),
    ...away.map((server) => h("div", { key: server.url, class: "banner bad", role: "status" },
      h("strong", null, `${server.url} does not answer `, "since ", when(server.awaySince, summary.now), ". "), server.problem)),
  ]));
}

new Shell({
  views, first: "overview", summary: "/api/operator/overview", summaryEvents: ["operator"], suffix: "Bothy operator",
  events: ["operator"], draw: drawFrame,
}).start();
