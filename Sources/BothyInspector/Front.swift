import BothyStore
import HTTPTypes
package import Logging

/// The door and what is behind it: answers requests, whoever carries them. Knows no sockets.
package struct Front: Sendable {
  let doorkeeper = Doorkeeper()
  let routes: InspectorRoutes
  package let watch: Watch
  private let logger: Logger

  package init(_ subjects: InspectorSubjects, logger: Logger) {
    watch = Watch(subjects)
    routes = InspectorRoutes(subjects, watch)
    self.logger = logger
  }

  /// Says where it listens, which is the one host it answers for.
  package func opens(at port: Int) { doorkeeper.opens(at: port) }

  /// The address that opens the page; without the token once that was used.
  package var address: String { doorkeeper.address }

  /// The events from now on. A listener that lags behind skips what came in between: the page reads anew in any case.
  package func events() -> AsyncStream<InspectorEvent> {
    watch.board.values(startingWith: InspectorEvent(.alive), keeping: 64)
  }

  /// Takes a request past the doorkeeper to its route; errors become JSON, and every answer gets the fields that keep
  /// the page to itself.
  package func answer(_ call: InspectorCall) async -> Answer {
    var answer: Answer
    switch doorkeeper.verdict(on: call) {
    case .refuse(let problem): answer = refusal(problem, call)
    case .exchange(let cookie): answer = Self.welcome(cookie)
    case .enter:
      do { answer = try await routes.answer(call) } catch {
        let problem = Problem(error)
        if problem.status.code >= 500 { logger.warning("A page failed.", metadata: ["error": "\(error)"]) }
        answer = .problem(problem)
      }
    }
    Fields.add(to: &answer.headers)
    return answer
  }

  /// The page is loaded by itself: a redirect that began on another site would leave the strict cookie out.
  private static func welcome(_ cookie: String) -> Answer {
    var answer = Answer(
      Array("<!doctype html><html lang=en><title>Bothy</title><p><a href=\"/\">Open the inspector</a>".utf8),
      type: "text/html; charset=utf-8")
    answer.headers[.setCookie] = cookie
    answer.headers[Fields.refresh] = "0; url=/"
    return answer
  }

  private func refusal(_ problem: Problem, _ call: InspectorCall) -> Answer {
    guard call.path == "/" else { return .problem(problem) }
    return Answer(
      Array((problem.message + "\n").utf8), type: "text/plain; charset=utf-8", status: problem.status)
  }
}
