#if canImport(WebKit)
  public import Foundation
  import HTTPTypes
  public import WebKit

  /// Answers requests of a web view for the addresses of an endpoint, without a socket: for MapLibre GL JS in an app.
  ///
  /// ```swift
  /// let handler = MapSchemeHandler(endpoint)
  /// configuration.setURLSchemeHandler(handler, forURLScheme: MapSchemeHandler.scheme)
  /// // in the page: new maplibregl.Map({style: "bothy-map://map/style.json", ...})
  /// ```
  @MainActor
  public final class MapSchemeHandler: NSObject, WKURLSchemeHandler {
    /// The scheme of the addresses: `bothy-map`. The host in an address may be any.
    public nonisolated static let scheme = "bothy-map"

    private let endpoint: MapEndpoint
    /// The requests that the web view waits for. It must not hear of others.
    private var open: [ObjectIdentifier: Task<Void, Never>] = [:]

    /// Creates a handler for the web views of one configuration.
    ///
    /// It keeps the endpoint, which need not be started.
    public init(_ endpoint: MapEndpoint) { self.endpoint = endpoint }

    /// Begins a request, for WebKit. Reads through the cache, off the main actor.
    ///
    /// A path that the style doesn't name is answered with the status 404.
    public func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask) {
      guard let url = urlSchemeTask.request.url, let host = url.host else {
        urlSchemeTask.didFailWithError(URLError(.badURL))
        return
      }
      let id = ObjectIdentifier(urlSchemeTask)
      let path = String(url.path(percentEncoded: true).dropFirst())
      open[id] = Task { [endpoint] in
        let answer = await endpoint.answer(path, at: "\(Self.scheme)://\(host)")
        guard self.open.removeValue(forKey: id) != nil else { return }
        let response = HTTPURLResponse(
          url: url, statusCode: answer.status.code, httpVersion: "HTTP/1.1", headerFields: answer.headerFields
        )
        guard let response else {
          urlSchemeTask.didFailWithError(URLError(.badServerResponse))
          return
        }
        urlSchemeTask.didReceive(response)
        urlSchemeTask.didReceive(answer.body)
        urlSchemeTask.didFinish()
      }
    }

    /// Ends a request that the web view no longer waits for. Nothing of it is delivered after this.
    public func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask) {
      open.removeValue(forKey: ObjectIdentifier(urlSchemeTask))?.cancel()
    }
  }
#endif
