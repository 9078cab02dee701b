public import BothyCore
public import Foundation

/// Reads of resources by their URLs.
///
/// ```swift
/// let menu = try await cache.value(Menu.self, at: menuURL, maxAge: .seconds(3600))
/// let picture = try await cache.data(at: pictureURL)
/// ```
///
/// A URL of a registered source has the source's key, rule and limits. Other URLs share one source with default limits.
/// Copies are found by their URL after a relaunch.
extension ResourceCache {
  /// Returns the bytes at a URL, from the first place that the policy allows.
  ///
  /// - Parameter maxAge: How long a copy is fresh, or `nil` to follow the server.
  /// - Throws: `BothyError` `.absent` if the server says that nothing is there, `.notCached` under `.local` without a copy,
  ///   and the errors of a download.
  public func data(
    at url: URL, policy: ReadPolicy = .localElseRemote, maxAge: Duration? = nil
  ) async throws -> Data {
    let key = try key(at: url)
    let found = try await value(
      key, ReadOptions(policy: policy, freshness: maxAge.flatMap { FreshnessRule(expirationInterval: $0) }))
    guard let bytes = found.bytes else { throw BothyError.absent(key, found) }
    return bytes
  }

  /// Returns the JSON value at a URL, like `data(at:policy:maxAge:)`. Bytes are decoded once for each version of them, and
  /// never stored if they don't decode. Throws `BothyError` `undecodable` then.
  public func value<Value: Decodable & Sendable>(
    _ type: Value.Type, at url: URL, policy: ReadPolicy = .localElseRemote, maxAge: Duration? = nil
  ) async throws -> Value {
    try await Resource<Value>(try key(at: url), in: self, expirationInterval: maxAge).value(policy: policy)
      .value
  }

  /// Returns the stored JSON value at once, if there is one, then each newer one. Sends one request; later downloads of
  /// the URL are delivered too. Ends when its task is cancelled, or with the error of the first read.
  public func values<Value: Decodable & Sendable>(
    _ type: Value.Type, at url: URL
  ) -> AsyncThrowingStream<Value, any Error> {
    let (stream, continuation) = AsyncThrowingStream<Value, any Error>.makeStream()
    let task = Task {
      do {
        let resource = try Resource<Value>(try key(at: url), in: self)
        let changes = resource.changes
        var last: Data?
        func deliver(_ found: ResourceValue<Value>) {
          guard found.resource.bytes != last else { return }
          last = found.resource.bytes
          continuation.yield(found.value)
        }
        for try await found in resource.values() { deliver(found) }
        for await found in changes { deliver(found) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// Deletes the copy of a URL.
  public func remove(_ url: URL) async throws { try await remove(try key(at: url)) }

  /// Returns the key of a URL, in the registered source that has it, or in the one for any address.
  private func key(at url: URL) throws(BothyError) -> ResourceKey {
    let text = url.absoluteString
    let known = sources.filter { $0.id != Self.anyAddress }
    for source in known { if let key = try? source.key(url: text) { return key } }
    if let source = source(Self.anyAddress) { return try source.key(url: text) }
    var source = try ResourceSource(Self.anyAddress, address: .anywhere)
    source.requiresUserAgent = false
    try register(source)
    return try source.key(url: text)
  }

  private static let anyAddress: SourceID = "any-address"
}
