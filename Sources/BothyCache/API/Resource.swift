public import Foundation

/// A download that is a value: its address, its lifetime and its decoding.
///
/// ```swift
/// let menu = try Resource<Menu>(try api.key(path: "menu.json"), in: cache, expirationInterval: .seconds(3600))
/// try await menu.updateIfNeeded()
/// for await change in menu.changes { show(change.value.dishes.joined(separator: ", ")) }
/// ```
///
/// Bytes are decoded once for each version of them, and never stored if they do not decode. After any failure the
/// stored value and its time are unchanged.
public struct Resource<Value: Sendable>: Sendable {
  /// The key of the resource in the cache.
  package let key: ResourceKey
  /// The time that a value is fresh, or `nil` to use the source's rule.
  package let expirationInterval: Duration?
  let cache: ResourceCache
  private let typed: TypedDemand

  /// Describes a download. Sends no request.
  ///
  /// A value of this type is cheap to create and to copy, and holds the cache in memory. Two values with one key share
  /// the stored bytes.
  ///
  /// - Parameters:
  ///   - key: the resource, of a source that is registered before the first read.
  ///   - expirationInterval: how long a value is fresh after its download or its last confirmation. At an age of
  ///     exactly this it is stale. `nil` uses the source's rule.
  ///   - version: the version of the format. Raise it when `decode` reads the same bytes differently. Two closures for
  ///     one type need two versions, as they share decoded values otherwise.
  ///   - decode: reads the bytes, on a task of the cache's. An error means that the bytes aren't stored.
  /// - Throws: `BothyError` `invalidConfiguration` for a negative interval.
  public init(
    _ key: ResourceKey, in cache: ResourceCache, expirationInterval: Duration? = nil, version: Int = 0,
    decode: @escaping @Sendable (Data) throws -> Value
  ) throws(BothyError) {
    if let expirationInterval, expirationInterval < .zero { throw .negative(key) }
    self.key = key
    self.cache = cache
    self.expirationInterval = expirationInterval
    typed = TypedDemand(type: String(reflecting: Value.self), version: version, decode: decode)
  }

  /// Returns the value from the first place that the policy allows. See `ResourceCache.value`.
  ///
  /// A value that was decoded before costs no decoding, if it fits the limit of decoded values. Stored bytes that no
  /// longer decode count as missing.
  ///
  /// - Throws: `BothyError` `.absent` if the server has said that the resource does not exist. `undecodable` if its
  ///   bytes do not decode. Any error of a read.
  public func value(
    policy: ReadPolicy = .localElseRemote, priority: ResourceCache.Priority = .normal
  ) async throws(BothyError) -> ResourceValue<Value> {
    try await decoded(try await cache.value(key, options(policy, priority)))
  }

  /// Requests the resource if the cache has no fresh entry, and does nothing else.
  ///
  /// ```swift
  /// let menu = try Resource<Menu>(try api.key(path: "menu.json"), in: cache)
  /// if try await menu.updateIfNeeded() == .changed { show("The menu is new.") }
  /// ```
  ///
  /// All simultaneous calls share one request. It is conditional if the stored bytes have a validator, and a 304 brings
  /// no body. A fresh entry that says that the resource does not exist counts as fresh too.
  ///
  /// - Throws: the failure of the request. The stored value and its time are unchanged, and the next call tries again.
  @discardableResult
  public func updateIfNeeded(priority: ResourceCache.Priority = .normal) async throws(BothyError)
    -> ResourceUpdate
  {
    let demand = try cache.demand(key, options(.remote, priority))
    // If the disk fails here, the request's own look-up reads it again.
    if let found = try? await cache.lookUp(demand), found.use.isFresh { return .notNeeded }
    switch try await cache.requestOutcome(demand) {
    case .resource(_, let isNew): return isNew ? .changed : .confirmed
    case .failed(let error): throw error
    }
  }

  /// The later values, one after each commit that changed the bytes. A confirmation sends none.
  ///
  /// ```swift
  /// let menu = try Resource<Menu>(try api.key(path: "menu.json"), in: cache)
  /// for await change in menu.changes { show(change.value.dishes.joined(separator: ", ")) }
  /// ```
  ///
  /// The stream never fails, and ends only when the cache is closed. It skips a value that is gone again or of another
  /// type. A listener that falls behind keeps the newest 16. Each access makes a stream of its own, which listens from
  /// then on. Downloads of other processes don't arrive.
  public var changes: AsyncStream<ResourceValue<Value>> {
    let events = cache.events
    let (stream, continuation) = AsyncStream<ResourceValue<Value>>.makeStream(
      bufferingPolicy: .bufferingNewest(16))
    let (resource, key) = (self, key)
    let task = Task {
      for await event in events {
        guard case .changed(key, _) = event else { continue }
        // A failure here means that the value is gone again already.
        if let value = try? await resource.value(policy: .local) { continuation.yield(value) }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// Returns the stored value at once, if one exists, then the network's value if it is different.
  ///
  /// Sends at most one request. Work begins with the call, and stops when the iteration's task is cancelled or the
  /// stream is dropped.
  ///
  /// - Throws: on iteration, the errors of `value(policy:priority:)`. After a stored value, the error of the refresh
  ///   ends the stream. It ends with `.absent` if the last answer says that the resource does not exist.
  public func values(priority: ResourceCache.Priority = .normal) -> AsyncThrowingStream<
    ResourceValue<Value>, any Error
  > {
    let (stream, continuation) = AsyncThrowingStream<ResourceValue<Value>, any Error>.makeStream()
    let resource = self
    let task = Task {
      do {
        var last: CachedResource?
        var absent: BothyError?
        let readings = ResourceReadings(
          cache: resource.cache, key: resource.key, options: resource.options(.localThenRemote, priority))
        for try await reading in readings {
          // The refresh of such an entry may find the resource.
          absent = reading.isAbsent ? .absent(resource.key, reading) : nil
          if reading.isAbsent || last?.bytes == reading.bytes { continue }
          last = reading
          continuation.yield(try await resource.decoded(reading))
        }
        continuation.finish(throwing: absent)
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// Removes the resource from the cache.
  ///
  /// Costs and throws as `ResourceCache.remove(_:)`. Pins stay, and `changes` posts nothing.
  public func remove() async throws { try await cache.remove(key) }

  func options(_ policy: ReadPolicy, _ priority: ResourceCache.Priority) -> ResourceCache.Options {
    var options = ResourceCache.Options(
      policy: policy, priority: priority,
      freshness: expirationInterval.flatMap { FreshnessRule(expirationInterval: $0) })
    options.typed = typed
    return options
  }

  private func decoded(_ resource: CachedResource) async throws(BothyError) -> ResourceValue<Value> {
    if resource.isAbsent { throw BothyError.absent(key, resource) }
    do {
      if let value = try cache.decodedValue(of: resource.stored, key, typed) as? Value {
        return ResourceValue(value: value, resource: resource)
      }
    } catch {
      throw BothyError(.undecodable, "\(key) does not decode to \(Value.self): \(error)")
    }
    throw BothyError(.undecodable, "\(key) is not a \(Value.self).")
  }
}

extension Resource where Value: Decodable {
  /// Describes a download of JSON.
  ///
  /// `JSONDecoder` reads it with its defaults. The parameters and errors are those of
  /// `init(_:in:expirationInterval:version:decode:)`.
  ///
  /// ```swift
  /// let menu = try Resource<Menu>(try api.key(path: "menu.json"), in: cache, expirationInterval: .seconds(3600))
  /// ```
  public init(
    _ key: ResourceKey, in cache: ResourceCache, expirationInterval: Duration? = nil, version: Int = 0
  ) throws(BothyError) {
    try self.init(key, in: cache, expirationInterval: expirationInterval, version: version) { bytes in
      try JSONDecoder().decode(Value.self, from: bytes)
    }
  }
}
