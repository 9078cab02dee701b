import HTTPTypes
import Logging

/// What is the same for every page: the doorkeeper first, then the answer, errors as JSON, and the fields that keep the
/// page to itself.
struct Gate: Sendable {
  let doorkeeper: Doorkeeper
  let logger: Logger

  /// - Parameter command: what people run for the page, as refusals tell.
  init(opening command: String, logger: Logger) {
    doorkeeper = Doorkeeper(opening: command)
    self.logger = logger
  }

  func answer(_ call: InspectorCall, by route: (InspectorCall) async throws -> Answer) async -> Answer {
    var answer: Answer
    switch doorkeeper.verdict(on: call) {
    case .refuse(let problem): answer = Self.refusal(problem, call)
    case .exchange(let cookie): answer = Self.welcome(cookie)
    case .enter:
      do { answer = try await route(call) } catch {
        let problem = Problem(error)
        if problem.status == .internalServerError {
          logger.error("A page failed.", metadata: ["path": "\(call.path)", "error": "\(error)"])
        }
        answer = .problem(problem)
      }
    }
    Fields.add(to: &answer.headers)
    return answer
  }

  /// The page is loaded by itself: a redirect that began on another site would leave the strict cookie out.
  private static func welcome(_ cookie: String) -> Answer {
    var answer = Answer(
      Array("<!doctype html><html lang=en><title>Bothy</title><p><a href=\"/\">Open the page</a>".utf8),
      type: "text/html; charset=utf-8")
    answer.headers[.setCookie] = cookie
    answer.headers[Fields.refresh] = "0; url=/"
    return answer
  }

  private static func refusal(_ problem: Problem, _ call: InspectorCall) -> Answer {
    guard call.path == "/" else { return .problem(problem) }
    return Answer(
      Array((problem.message + "\n").utf8), type: "text/plain; charset=utf-8", status: problem.status)
  }
}
