package import Foundation
package import HTTPTypes

/// Requests that change something on the server. The cache removes the entries that they invalidate.
extension ResourceCache {
  /// Sends a request of any method once and returns the server's response, which isn't stored. Every status counts as one.
  ///
  /// If a method that changes resources succeeds, the cache removes the resource. It also removes the resources in
  /// `Location` and `Content-Location` of the response that are on the same server (RFC 9111 §4.4).
  package func send(
    _ method: HTTPRequest.Method, to key: ResourceKey, fields: HTTPFields = [:], body: Data = Data()
  ) async throws(BothyError) -> (status: Int, fields: HTTPFields, body: Data) {
    let demand = try demand(key, ResourceCache.Options(fields: fields))
    guard let fetcher else { throw BothyError(.offline, "The cache has no network to send to \(key).") }
    var order = demand.order(demand.requestFields)
    order.method = method
    order.body = body
    let answer: FetchedResponse
    do throws(LoadFailure) { answer = try await fetcher.fetch(order, for: InFlightRequest(.urgent)) } catch {
      throw BothyError(error, key)
    }
    let targets = Invalidation.targets(
      method: method, url: demand.source.publicURL(for: key), status: answer.status, fields: answer.fields)
    if !targets.isEmpty {
      var keys: Set<ResourceKey> = [key]
      for source in registry.all {
        // An address of another source has no key in this one.
        for target in targets { if let other = try? source.key(url: target) { keys.insert(other) } }
      }
      do { try await remove(Array(keys)) } catch {
        throw BothyError(
          .storage, "The server took the request, but the cache could not let go of \(key): \(error)")
      }
    }
    return (answer.status, answer.fields, answer.body)
  }

  /// Receives a response that no read asked for, and stores it as the response to later reads of the key.
  ///
  /// The caller knows that it is one. It isn't stored if the source's rule or expectation is against it, or if the
  /// resource is removed while it comes. Returns the response, and throws the errors of `receiving`.
  package func keep<Failure: Error>(
    _ key: ResourceKey, receiving: () async throws(Failure) -> ReceivedResponse
  ) async throws(Failure) -> ReceivedResponse {
    let ticket = generations.begin()
    defer { generations.end(ticket) }
    let answer = try await receiving()
    guard let known = registry[key.source]?.source,
      case .store(let metadata) = ResponseEvaluator(
        of: answer, stored: nil, rule: known.freshness, expectation: known.content)
    else { return answer }
    let entry = CacheEntry(metadata: metadata, body: answer.body)
    _ = await keep(key, entry, wasSame: false, origin: .network, ticket)
    return answer
  }
}
