import HTTPTypes
import Logging

/// The handling that all pages share: access control, the response, errors as JSON, and the fields that keep content
/// private to the page.
struct Gate: Sendable {
  let doorkeeper: LoopbackAuthenticator
  let logger: Logger

  /// - Parameter command: the command that starts the page, which refusals name.
  init(opening command: String, logger: Logger) {
    doorkeeper = LoopbackAuthenticator(opening: command)
    self.logger = logger
  }

  func answer(_ call: InspectorCall, by route: (InspectorCall) async throws -> Answer) async -> Answer {
    var answer: Answer
    switch doorkeeper.verdict(on: call) {
    case .refuse(let problem): answer = Self.refusal(problem, call)
    case .exchange(let cookie): answer = Self.welcome(cookie)
    case .enter:
      do { answer = try await route(call) } catch {
        let problem = HTTPFailure(error)
        if problem.status == .internalServerError {
          logger.error("A page failed.", metadata: ["path": "\(call.path)", "error": "\(error)"])
        }
        answer = .problem(problem)
      }
    }
    Fields.add(to: &answer.headers)
    return answer
  }

  /// Returns a page that loads `/` by itself. After a redirect that began on another site, browsers don't send the
  /// strict cookie.
  private static func welcome(_ cookie: String) -> Answer {
    var answer = Answer(
      Array("<!doctype html><html lang=en><title>Bothy</title><p><a href=\"/\">Open the page</a>".utf8),
      type: "text/html; charset=utf-8")
    answer.headers[.setCookie] = cookie
    answer.headers[Fields.refresh] = "0; url=/"
    return answer
  }

  private static func refusal(_ problem: HTTPFailure, _ call: InspectorCall) -> Answer {
    guard call.path == "/" else { return .problem(problem) }
    return Answer(
      Array((problem.message + "\n").utf8), type: "text/plain; charset=utf-8", status: problem.status)
  }
}
