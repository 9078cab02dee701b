import Hummingbird

/// The files of the pages. They are compiled in, so the tool remains one file.
enum Assets {
  /// Adds a route for each file, and one for the page itself.
  static func add(_ home: [UInt8], to router: some RouterMethods<some RequestContext>) {
    for (path, (bytes, type)) in files.merging(
      ["/": (home, html)], uniquingKeysWith: { $1 })
    {
      let response = Response(bytes, type: type)
      router.get(RouterPath(path)) { _, _ in response }
    }
  }

  private static let html = "text/html; charset=utf-8"
  private static let script = "text/javascript; charset=utf-8"
  private static let files: [String: ([UInt8], String)] = [
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
    "/assets/edit.js": (PackageResources.edit_js, script),
    "/assets/facets.js": (PackageResources.facets_js, script),
    "/assets/pending.js": (PackageResources.pending_js, script),
    "/assets/rejected.js": (PackageResources.rejected_js, script),
    "/assets/journal.js": (PackageResources.journal_js, script),
    "/assets/timeline.js": (PackageResources.timeline_js, script),
    "/assets/containers.js": (PackageResources.containers_js, script),
    "/assets/cache.js": (PackageResources.cache_js, script),
    "/assets/map.js": (PackageResources.map_js, script),
    "/assets/coast.js": (PackageResources.coast_js, script),
    "/assets/settings.js": (PackageResources.settings_js, script),
    "/assets/packs.js": (PackageResources.packs_js, script),
  ]
}
