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
  /// Costs as `value(_:policy:priority:)` of a key. A web page in place of an address with another extension, such as
  /// `.json`, is rejected.
  ///
  /// - Parameter maxAge: The time that a copy is fresh, or `nil` to follow the server.
  /// - Throws: `BothyError` `.absent` if the server says that nothing is there, and `.notCached` under `.local` without
  ///   a copy. `invalidConfiguration` for a negative `maxAge`, `invalidKey` for a URL that isn't http or https, and the errors of a download.
  public func data(
    at url: URL, policy: ReadPolicy = .localElseRemote, maxAge: Duration? = nil
  ) async throws -> Data {
    let key = try key(at: url)
    if let maxAge, maxAge < .zero { throw BothyError.negative(key) }
    let found = try await value(
      key,
      ResourceCache.Options(
        policy: policy, freshness: maxAge.flatMap { FreshnessRule(expirationInterval: $0) }))
    guard let bytes = found.bytes else { throw BothyError.absent(key, found) }
    return bytes
  }

  /// Returns the JSON value at a URL, like `data(at:policy:maxAge:)`. Bytes are decoded once for each version of them,
  /// and never stored if they don't decode.
  ///
  /// `JSONDecoder` decodes them with its defaults. For other formats and strategies use `Resource` with a `decode`
  /// closure.
  ///
  /// - Throws: `BothyError` `undecodable` if the bytes do not decode, `invalidConfiguration` for a negative `maxAge`,
  ///   and the errors of `data(at:policy:maxAge:)`.
  public func value<Value: Decodable & Sendable>(
    _ type: Value.Type, at url: URL, policy: ReadPolicy = .localElseRemote, maxAge: Duration? = nil
  ) async throws -> Value {
    try await Resource<Value>(try key(at: url), in: self, expirationInterval: maxAge).value(policy: policy)
      .value
  }

  /// Returns the stored JSON value at once, if there is one, then each newer one.
  ///
  /// ```swift
  /// for try await menu in cache.values(Menu.self, at: menuURL) { show(menu.dishes.joined(separator: ", ")) }
  /// ```
  ///
  /// Sends one request, unless the copy is fresh. Later downloads of the URL in this process are delivered too. A value
  /// with the same bytes isn't repeated. If the request fails after a stored value, the sequence goes on, and
  /// `CacheEvent.failed` has the error. Ends when its task is cancelled or the cache is closed.
  ///
  /// - Throws: on iteration, the error of the request if nothing is stored, and `.absent` if the server says that nothing
  ///   is there.
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
        do {
          for try await found in resource.values() { deliver(found) }
        } catch let error as BothyError where last != nil && error.code != .absent {
          // The stored value stays until a later download. An event reports the failure.
        }
        for await found in changes { deliver(found) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// Deletes the copy of a URL, in memory and on disk, pinned or not.
  ///
  /// A URL without a copy is skipped.
  ///
  /// - Throws: `BothyError` `invalidKey` for a URL that isn't http or https, or `.busy` while another process writes.
  public func remove(_ url: URL) async throws { try await remove(try key(at: url)) }

  /// Returns the key of a URL, in the registered source that has it, or in the one for any address. Another source of
  /// any address, as that of a style, has no URL here: its secrets would go to each host.
  private func key(at url: URL) throws(BothyError) -> ResourceKey {
    let text = url.absoluteString
    let known = sources.filter { $0.address != .anywhere }
    for source in known { if let key = try? source.key(url: text) { return key } }
    if let source = source(Self.anyAddress) { return try source.key(url: text) }
    var source = try ResourceSource(Self.anyAddress, address: .anywhere)
    source.requiresUserAgent = false
    try register(source)
    return try source.key(url: text)
  }

  private static let anyAddress: SourceID = "any-address"
}
