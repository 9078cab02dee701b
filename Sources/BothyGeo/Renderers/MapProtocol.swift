#if canImport(Darwin)
  public import Foundation
  import HTTPTypes
  import Synchronization

  /// Answers requests of a `URLSession` for the addresses of an endpoint, without a socket.
  ///
  /// MapLibre for Apple's platforms loads all that it draws by a session, and takes the configuration of an app:
  ///
  /// ```swift
  /// let configuration = URLSessionConfiguration.default
  /// configuration.protocolClasses = [MapProtocol.self]
  /// MLNNetworkConfiguration.sharedManager.sessionConfiguration = configuration
  /// mapView.styleURL = MapProtocol.address(of: endpoint)
  /// ```
  ///
  /// An endpoint is answered as long as the app has it.
  public final class MapProtocol: URLProtocol {
    private struct Known: Sendable {
      weak var endpoint: MapEndpoint?
    }

    /// A request and its client. A session may be told of an answer from any thread, but of one answer once, which the
    /// task's cancellation guards.
    private struct Loading: @unchecked Sendable {
      let loader: MapProtocol
    }

    private static let endpoints = Mutex<[String: Known]>([:])
    /// A domain that no name server knows (RFC 2606). A request that isn't answered here fails.
    private static let domain = "bothy.invalid"
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Returns the address of the style of an endpoint for sessions with this protocol.
    ///
    /// Registers the endpoint for this process, which holds it weakly. A second call returns the same address. The
    /// endpoint need not be started. After it was released, requests fail with `URLError.resourceUnavailable`.
    public static func address(of endpoint: MapEndpoint) -> URL? {
      let host = label(endpoint)
      endpoints.withLock { known in
        known = known.filter { $0.value.endpoint != nil }
        known[host] = Known(endpoint: endpoint)
      }
      return URL(string: "https://\(host)/style.json")
    }

    /// The token in two parts, as a label of a host's name has at most 63 characters.
    private static func label(_ endpoint: MapEndpoint) -> String {
      "\(endpoint.token.prefix(32)).\(endpoint.token.suffix(32)).\(domain)"
    }

    override public class func canInit(with request: URLRequest) -> Bool {
      request.url?.host?.hasSuffix("." + domain) ?? false
    }

    override public class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override public func startLoading() {
      let (url, method) = (request.url, request.httpMethod ?? "GET")
      let condition = request.value(forHTTPHeaderField: "If-None-Match")
      guard let url, let host = url.host, method == "GET" || method == "HEAD",
        let endpoint = Self.endpoints.withLock({ $0[host]?.endpoint })
      else {
        client?.urlProtocol(self, didFailWithError: URLError(.resourceUnavailable))
        return
      }
      let path = String(url.path(percentEncoded: true).dropFirst())
      let loading = Loading(loader: self)
      let task = Task {
        let answer = await endpoint.answer(path, at: "https://\(host)", condition: condition)
        guard !Task.isCancelled else { return }
        loading.loader.finish(answer, url, isHead: method == "HEAD")
      }
      work.withLock { $0 = task }
    }

    override public func stopLoading() { work.withLock { $0 }?.cancel() }

    private func finish(_ answer: MapAnswer, _ url: URL, isHead: Bool) {
      guard
        let response = HTTPURLResponse(
          url: url, statusCode: answer.status.code, httpVersion: "HTTP/1.1", headerFields: answer.headerFields
        )
      else {
        client?.urlProtocol(self, didFailWithError: URLError(.badServerResponse))
        return
      }
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      if !isHead { client?.urlProtocol(self, didLoad: answer.body) }
      client?.urlProtocolDidFinishLoading(self)
    }
  }
#endif
