public import Foundation

/// A download that is a value: where it is, how long it is good for, how its bytes are read.
///
///     let menu = try Resource<Menu>(try api.key(path: "menu.json"), in: cache, expirationInterval: .hours(1))
///     try await menu.updateIfNeeded()
///     for await change in menu.changes { show(change.value) }
///
/// Bytes are decoded once for each version of them, and never stored when they do not decode: a failure of any kind
/// leaves the stored value and its time as they are.
public struct Resource<Value: Sendable>: Sendable {
  /// What it is called in the cache.
  public let key: ResourceKey
  /// How long a value is fresh; nil: as the source's rule says.
  public let expirationInterval: Duration?
  let cache: ResourceCache
  private let typed: TypedDemand

  /// Describes a download; asks nobody.
  ///
  /// - Parameters:
  ///   - expirationInterval: how long a value is fresh, counted from when it came or was last confirmed; at an age of
  ///     exactly this it is stale. Nil: as the source's rule says.
  ///   - version: of the format; raise it when `decode` reads the same bytes differently.
  ///   - decode: reads the bytes, on a task of the cache's.
  /// - Throws: `CacheError.invalidConfiguration` for a negative interval.
  public init(
    _ key: ResourceKey, in cache: ResourceCache, expirationInterval: Duration? = nil, version: Int = 0,
    decode: @escaping @Sendable (Data) throws -> Value
  ) throws(CacheError) {
    if let expirationInterval, expirationInterval < .zero {
      throw CacheError(
        .invalidConfiguration,
        "\(key): an expiration interval is not negative. Leave it out to follow the server.")
    }
    self.key = key
    self.cache = cache
    self.expirationInterval = expirationInterval
    typed = TypedDemand(type: String(reflecting: Value.self), version: version, decode: decode)
  }

  /// The value from the first place that has it in the way the mode asks for; see `ResourceCache.value`.
  ///
  /// - Throws: `CacheError.absent` when the server has said that there is nothing, `undecodable` when its bytes are no
  ///   value, and whatever a read throws.
  public func value(
    mode: ReadMode = .cacheElseNetwork, priority: LoadPriority = .normal
  ) async throws(CacheError) -> ResourceValue<Value> {
    try await decoded(try await cache.value(key, options(mode, priority)))
  }

  /// Asks the server when nothing is stored, or nothing fresh; does nothing else.
  ///
  /// All who call at the same time share one request.
  /// - Throws: what came in the way; the stored value and its time are as they were, and the next call tries again.
  @discardableResult
  public func updateIfNeeded(priority: LoadPriority = .normal) async throws(CacheError) -> ResourceUpdate {
    let demand = try cache.demand(key, options(.revalidate, priority))
    // A disk that fails here is asked again by the request's own look-up.
    if let found = try? await cache.lookUp(demand), found.use.isFresh { return .notNeeded }
    switch try await cache.askOutcome(demand) {
    case .resource(_, let isNew): return isNew ? .changed : .confirmed
    case .failed(let error): throw error
    }
  }

  /// The values from now on: one after each commit that changed the bytes, none when they were confirmed.
  ///
  /// Never fails and never ends by itself; a value that is gone again or of another type is passed over.
  public var changes: AsyncStream<ResourceValue<Value>> {
    let events = cache.events
    let (stream, continuation) = AsyncStream<ResourceValue<Value>>.makeStream(
      bufferingPolicy: .bufferingNewest(16))
    let (resource, key) = (self, key)
    let task = Task {
      for await event in events {
        guard case .changed(key, _) = event else { continue }
        // A failure here means that the value is gone again already.
        if let value = try? await resource.value(mode: .cacheOnly) { continuation.yield(value) }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// The stored value at once, if there is one, then the one that the network brings if it is another.
  public func values(priority: LoadPriority = .normal) -> AsyncThrowingStream<ResourceValue<Value>, any Error>
  {
    let (stream, continuation) = AsyncThrowingStream<ResourceValue<Value>, any Error>.makeStream()
    let resource = self
    let task = Task {
      do {
        var last: CachedResource?
        let readings = ResourceReadings(
          cache: resource.cache, key: resource.key, options: resource.options(.staleThenFresh, priority))
        for try await reading in readings {
          if let last, last.bytes == reading.bytes { continue }
          last = reading
          continuation.yield(try await resource.decoded(reading))
        }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// Removes what is stored of it.
  public func remove() async throws { try await cache.remove(key) }

  func options(_ mode: ReadMode, _ priority: LoadPriority) -> ReadOptions {
    var options = ReadOptions(
      mode: mode, priority: priority,
      freshness: expirationInterval.flatMap { FreshnessRule(expirationInterval: $0) })
    options.typed = typed
    return options
  }

  private func decoded(_ resource: CachedResource) async throws(CacheError) -> ResourceValue<Value> {
    if resource.isAbsent {
      throw CacheError(
        .absent, "The server says that there is no \(key).", status: resource.metadata.status)
    }
    do {
      if let value = try cache.decodedValue(of: resource.stored, key, typed) as? Value {
        return ResourceValue(value: value, resource: resource)
      }
    } catch {
      throw CacheError(.undecodable, "\(key) does not decode to \(Value.self): \(error)")
    }
    throw CacheError(.undecodable, "\(key) is not a \(Value.self).")
  }
}

extension Resource where Value: Decodable {
  /// Describes a download of JSON.
  public init(
    _ key: ResourceKey, in cache: ResourceCache, expirationInterval: Duration? = nil, version: Int = 0
  ) throws(CacheError) {
    try self.init(key, in: cache, expirationInterval: expirationInterval, version: version) { bytes in
      try JSONDecoder().decode(Value.self, from: bytes)
    }
  }
}

/// A value, and what is known of the bytes it came from.
public struct ResourceValue<Value: Sendable>: Sendable {
  /// What the bytes were decoded to.
  public let value: Value
  /// The bytes, where they were found and what is known of them.
  public let resource: CachedResource

  /// Whether nothing better is to be had by asking the server.
  public var isFresh: Bool { resource.isFresh }
}

/// What an update did.
public enum ResourceUpdate: String, Sendable, Hashable {
  /// What is stored is fresh: nobody was asked.
  case notNeeded
  /// The server was asked, and what is stored is still right.
  case confirmed
  /// The server was asked, and its bytes, which are stored now, are others.
  case changed
}
