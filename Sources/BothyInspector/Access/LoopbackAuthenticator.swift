import BothyStore
import HTTPTypes
import Hummingbird
import Synchronization

/// Admits the first browser that sends the printed token, and afterwards the browser that has the cookie.
///
/// The token works once. Requests under another host's name are refused, so that no web page reaches this one by a name
/// that it lets point here. Changes are accepted only from this page's own scripts.
final class LoopbackAuthenticator: Sendable {
  private struct State {
    var port = 0
    /// The token, or `nil` after its use.
    var token: String?
    var session: String?
  }

  private let state = Mutex(State(token: Secret.make()))
  /// The command for another address, which refusals name.
  private let command: String

  init(opening command: String) { self.command = command }

  /// Sets the port of the page, which is known when the page listens.
  func opens(at port: Int) { state.withLock { $0.port = port } }

  /// The address that opens the page, with the token until its use.
  var address: String {
    state.withLock { "http://127.0.0.1:\($0.port)/" + ($0.token.map { "?token=\($0)" } ?? "") }
  }

  /// The name of the cookie. It includes the port, because browsers send cookies to every port of a host.
  var cookieName: String { "bothy-inspector-\(state.withLock { $0.port })" }

  /// Returns `nil` for the admitted browser, and its cookie in exchange for the right token. Throws for all others.
  func admit(_ request: Request) throws(HTTPFailure) -> String? {
    let names = state.withLock { ["127.0.0.1:\($0.port)", "localhost:\($0.port)"] }
    guard let host = request.head.authority?.lowercased(), names.contains(host) else {
      throw .foreignHost(command)
    }
    let hasSession = hasSession(request)
    let opens = request.method == .get && request.uri.path == "/"
    if opens, let token = request.parameters.get("token") {
      if let session = exchange(token) {
        return "\(cookieName)=\(session); Path=/; HttpOnly; SameSite=Strict"
      }
      guard hasSession else { throw .voidToken(command) }
    }
    guard hasSession else { throw .noSession(command) }
    // A page may be opened in a window of its own, like a link does. A link on another page of this machine counts too:
    // that page can't read what the link opens, and no page may frame this one.
    let isLinked = opens && request.headers[Fields.fetchDestination] == "document"
    if let site = request.headers[Fields.fetchSite], site != "same-origin", site != "none", !isLinked {
      throw .foreignOrigin
    }
    guard request.method != .get, request.method != .head else { return nil }
    guard request.headers[.origin]?.lowercased() == "http://" + host, request.headers[Fields.inspector] == "1"
    else { throw .foreignOrigin }
    return nil
  }

  private func exchange(_ token: String) -> String? {
    state.withLock { state in
      guard let expected = state.token, Secret.areEqual(expected, token) else { return nil }
      let session = Secret.make()
      state.token = nil
      state.session = session
      return session
    }
  }

  private func hasSession(_ request: Request) -> Bool {
    guard let session = state.withLock({ $0.session }) else { return false }
    return request.cookies[cookieName].map { Secret.areEqual($0.value, session) } ?? false
  }
}
