import BothyHTTP
import BothyServer
import BothySync
import HTTPTypes

/// The requests to a back end that decides about writes. Redirects are answers, and none is followed.
struct DecisionRequest: Sendable {
  private let transport: any HTTPTransport

  /// - Parameter answerSize: the most bytes of an answer.
  init(answerSize: Int) {
    transport = RemoteConnection.makeTransport(compression: false, bodyLimit: answerSize)
  }

  /// Throws `RemoteError` if no answer comes, and `AnswerTooLarge` for a larger one.
  func send(_ request: WriteCallout.Request) async throws -> WriteCallout.Response {
    let response: TransportResponse
    do {
      response = try await transport.send(
        TransportRequest(
          .post, request.url, headers: HTTPFields(request.headers), body: request.body, timeout: request.time)
      )
    } catch {
      guard error.code != "answerTooLarge" else { throw WriteCallout.AnswerTooLarge() }
      throw error
    }
    return WriteCallout.Response(status: response.status, body: response.body)
  }
}

extension HTTPFields {
  /// Makes fields from names and values. Invalid names are left out.
  init(_ values: [String: String]) {
    self.init()
    for (name, value) in values {
      if let name = HTTPField.Name(name) { self[name] = value }
    }
  }
}
