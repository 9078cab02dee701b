import BothyStore
package import HTTPTypes

/// The response to a request.
package struct Answer: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// The events from now on, until the client leaves.
    case events
  }

  package var status = HTTPResponse.Status.ok
  package var headers: HTTPFields = [:]
  package var body: Body

  init(_ bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) {
    body = .bytes(bytes)
    headers[.contentType] = type
    self.status = status
  }

  /// The response with the stream of events.
  static let events: Answer = {
    var answer = Answer([], type: "text/event-stream")
    answer.body = .events
    return answer
  }()

  /// Returns a JSON object. `write` writes its members.
  static func object(
    status: HTTPResponse.Status = .ok, _ write: (inout JSONWriter) throws -> Void
  ) rethrows -> Answer {
    var writer = JSONWriter(reserving: 1024)
    try writer.object(write)
    return Answer(writer.bytes, type: "application/json", status: status)
  }

  static func problem(_ problem: HTTPFailure) -> Answer {
    object(status: problem.status) { writer in
      writer.object("error") { writer in
        writer.member("code", problem.code)
        writer.member("message", problem.message)
      }
    }
  }
}
