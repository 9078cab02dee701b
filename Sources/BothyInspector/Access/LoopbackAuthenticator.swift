import BothyStore
import HTTPTypes
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

  enum Verdict: Equatable {
    case enter
    /// The token was right, and the browser receives the cookie in its place.
    case exchange(setCookie: String)
    case refuse(HTTPFailure)
  }

  func verdict(on call: InspectorCall) -> Verdict {
    let names = state.withLock { ["127.0.0.1:\($0.port)", "localhost:\($0.port)"] }
    guard let host = call.host?.lowercased(), names.contains(host) else {
      return .refuse(.foreignHost(command))
    }
    if call.path == "/", call.method == .get, let token = call.query["token"] {
      if let session = exchange(token) {
        return .exchange(setCookie: "\(cookieName)=\(session); Path=/; HttpOnly; SameSite=Strict")
      }
      if !hasSession(call) { return .refuse(.voidToken(command)) }
    }
    guard hasSession(call) else { return .refuse(.noSession(command)) }
    if let site = call.headers[Fields.fetchSite], site != "same-origin", site != "none", !isOpening(call) {
      return .refuse(.foreignOrigin)
    }
    guard call.method != .get, call.method != .head else { return .enter }
    guard call.headers[.origin]?.lowercased() == "http://" + host, call.headers[Fields.inspector] == "1"
    else {
      return .refuse(.foreignOrigin)
    }
    return .enter
  }

  /// True if the request opens the page in a window of its own, like a link does. A link on another page of this
  /// machine counts too: that page can't read what the link opens, and no page may frame this one.
  private func isOpening(_ call: InspectorCall) -> Bool {
    call.method == .get && call.path == "/" && call.headers[Fields.fetchDestination] == "document"
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

  private func hasSession(_ call: InspectorCall) -> Bool {
    guard let session = state.withLock({ $0.session }) else { return false }
    return call.cookie(cookieName).map { Secret.areEqual($0, session) } ?? false
  }
}

/// Random texts that can't be guessed.
enum Secret {
  /// Returns 256 random bits of the system's generator.
  static func make() -> String {
    (0..<32).map { _ in UInt8.random(in: 0...255) }.hexadecimal
  }

  /// Compares in constant time for texts of one length.
  static func areEqual(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return zip(left.utf8, right.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
