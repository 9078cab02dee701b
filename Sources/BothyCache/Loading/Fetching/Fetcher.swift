internal import Foundation
internal import HTTPTypes

/// Brings complete answers from the network. It decides nothing about freshness and stores no answer.
package final class Fetcher: Sendable {
  private let loader: any ResourceLoader
  private let clock: LoadClock

  package init(_ loader: any ResourceLoader, clock: LoadClock = LoadClock()) {
    self.loader = loader
    self.clock = clock
  }

  /// Fetches what is ordered; to be called as the work of a flight.
  ///
  /// Returns every complete answer, whatever its status, also one that still is an error after all attempts.
  /// - Throws: when no complete answer came or none may be used; then nothing of it is kept.
  package func fetch(_ order: FetchOrder, for flight: Flight) async throws(LoadFailure) -> FetchedAnswer {
    guard let url = order.urls.first else {
      throw LoadFailure(.invalidRequest, "There is no address to fetch from.")
    }
    let request = ResourceRequest(
      url, method: order.method, fields: order.fields, body: order.body, timeout: order.timeout)
    let requestedAt = clock.wall()
    let response = try await loader.load(request)
    let receivedAt = clock.wall()
    let body = try await collect(response, order, flight)
    return FetchedAnswer(
      status: response.status, fields: response.fields, body: body, url: url, requestedAt: requestedAt,
      receivedAt: receivedAt)
  }

  private func collect(
    _ response: ResourceResponse, _ order: FetchOrder, _ flight: Flight
  ) async throws(LoadFailure) -> Data {
    var body = Data()
    do {
      for try await piece in response.body {
        body.append(piece)
        if body.count > order.bodyLimit {
          throw LoadFailure(
            .tooLarge(limit: order.bodyLimit), "The body has more than \(order.bodyLimit) bytes.")
        }
        flight.report(LoadProgress(received: Int64(body.count)))
      }
    } catch {
      throw LoadFailure.of(error)
    }
    return body
  }
}
