import BothyHTTP
import BothyServer
import BothySync
import HTTPTypes

/// The requests to a back end that decides about writes. Redirects are answers, and none is followed.
struct DecisionRequest: Sendable {
  private let transport: any HTTPTransport

  /// - Parameter answerSize: the most bytes of an answer.
  init(answerSize: Int) {
    #if canImport(Darwin)
      transport = URLSessionTransport(bodyLimit: answerSize)
    #else
      transport = AsyncHTTPClientTransport(compression: false, bodyLimit: answerSize)
    #endif
  }

  /// Throws `RemoteError` if no answer comes, and `AnswerTooLarge` for a larger one.
  func send(_ request: WriteCallout.Request) async throws -> WriteCallout.Response {
    var headers: HTTPFields = [:]
    for (name, value) in request.headers {
      if let name = HTTPField.Name(name) { headers[name] = value }
    }
    let response: TransportResponse
    do {
      response = try await transport.send(
        TransportRequest(.post, request.url, headers: headers, body: request.body, timeout: request.time))
    } catch {
      guard error.code != "answerTooLarge" else { throw WriteCallout.AnswerTooLarge() }
      throw error
    }
    return WriteCallout.Response(status: response.status, body: response.body)
  }
}
