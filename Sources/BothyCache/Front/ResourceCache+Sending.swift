public import Foundation
public import HTTPTypes

/// Requests that change something on the server, sent through the cache so that it lets go of what they make wrong.
extension ResourceCache {
  /// Sends a request of any method once and returns the server's answer; nothing of it is stored.
  ///
  /// When a method that changes things succeeds, the resource goes from the cache, and so does what the answer names in
  /// `Location` and `Content-Location` on the same server (RFC 9111 §4.4).
  public func send(
    _ method: HTTPRequest.Method, to key: ResourceKey, fields: HTTPFields = [:], body: Data = Data()
  ) async throws(CacheError) -> ResourceReply {
    let demand = try demand(key, ReadOptions(fields: fields))
    guard let fetcher else { throw CacheError(.offline, "The cache has no network to send to \(key).") }
    var order = demand.order(demand.requestFields)
    order.method = method
    order.body = body
    let answer: FetchedAnswer
    do throws(LoadFailure) { answer = try await fetcher.fetch(order, for: Flight(.urgent)) } catch {
      throw CacheError(error, key)
    }
    let targets = Invalidation.targets(
      method: method, url: demand.source.publicURL(for: key), status: answer.status, fields: answer.fields)
    if !targets.isEmpty {
      var keys: Set<ResourceKey> = [key]
      for source in registry.all {
        // Addresses that are not this source's have no key in it.
        for target in targets { if let other = try? source.key(url: target) { keys.insert(other) } }
      }
      do { try await remove(Array(keys)) } catch {
        throw CacheError(
          .storage, "The server took the request, but the cache could not let go of \(key): \(error)")
      }
    }
    return ResourceReply(status: answer.status, fields: answer.fields, body: answer.body)
  }
}

/// What a server answered to a request that was sent through the cache.
public struct ResourceReply: Sendable {
  /// The status of the answer; any one is an answer.
  public var status: Int
  /// The fields of the answer.
  public var fields: HTTPFields
  /// The whole body, any content coding undone.
  public var body: Data
}
