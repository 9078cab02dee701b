import HTTPTypes

/// The files of the page. They are compiled in, so the tool remains one file.
enum Assets {
  static func named(_ path: String) -> Answer? {
    guard let (bytes, type) = files[path] else { return nil }
    return Answer(bytes, type: type)
  }

  /// The page of the playground, in place of the inspector's.
  static var playground: Answer {
    Answer(PackageResources.play_html, type: "text/html; charset=utf-8")
  }

  /// The page of an operator, in place of the inspector's.
  static var `operator`: Answer {
    Answer(PackageResources.operator_html, type: "text/html; charset=utf-8")
  }

  private static let script = "text/javascript; charset=utf-8"
  private static let files: [String: ([UInt8], String)] = [
    "/": (PackageResources.index_html, "text/html; charset=utf-8"),
    "/assets/inspector.css": (PackageResources.inspector_css, "text/css; charset=utf-8"),
    "/assets/play.css": (PackageResources.play_css, "text/css; charset=utf-8"),
    "/assets/play.js": (PackageResources.play_js, script),
    "/assets/icon.svg": (PackageResources.icon_svg, "image/svg+xml"),
    // Browsers request it on the page that exchanges the token.
    "/favicon.ico": (PackageResources.icon_svg, "image/svg+xml"),
    "/assets/app.js": (PackageResources.app_js, script),
    "/assets/shell.js": (PackageResources.shell_js, script),
    "/assets/operator.js": (PackageResources.operator_js, script),
    "/assets/operatorspaces.js": (PackageResources.operatorspaces_js, script),
    "/assets/operatorservers.js": (PackageResources.operatorservers_js, script),
    "/assets/operatorwork.js": (PackageResources.operatorwork_js, script),
    "/assets/api.js": (PackageResources.api_js, script),
    "/assets/dom.js": (PackageResources.dom_js, script),
    "/assets/format.js": (PackageResources.format_js, script),
    "/assets/live.js": (PackageResources.live_js, script),
    "/assets/overview.js": (PackageResources.overview_js, script),
    "/assets/records.js": (PackageResources.records_js, script),
    "/assets/pending.js": (PackageResources.pending_js, script),
    "/assets/inbox.js": (PackageResources.inbox_js, script),
    "/assets/journal.js": (PackageResources.journal_js, script),
    "/assets/timeline.js": (PackageResources.timeline_js, script),
    "/assets/containers.js": (PackageResources.containers_js, script),
    "/assets/cache.js": (PackageResources.cache_js, script),
    "/assets/map.js": (PackageResources.map_js, script),
    "/assets/settings.js": (PackageResources.settings_js, script),
    "/assets/packs.js": (PackageResources.packs_js, script),
  ]
}
