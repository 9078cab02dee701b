/// The stored and the new version of one resource: the result of `ResourceCache.values`.
package struct ResourceReadings: AsyncSequence, Sendable {
  package typealias Element = CachedResource
  package typealias Failure = BothyError

  let cache: ResourceCache
  let key: ResourceKey
  let options: ResourceCache.Options

  package func makeAsyncIterator() -> Iterator { Iterator(readings: self) }

  package struct Iterator: AsyncIteratorProtocol {
    private enum Step { case first, second(Task<Result<CachedResource, BothyError>, Never>), end }

    private let readings: ResourceReadings
    private var step = Step.first

    init(readings: ResourceReadings) { self.readings = readings }

    package mutating func next() async throws(BothyError) -> CachedResource? {
      try await next(isolation: nil)
    }

    package mutating func next(isolation actor: isolated (any Actor)?) async throws(BothyError)
      -> CachedResource?
    {
      switch step {
      case .first:
        step = .end
        let reading = try await readings.cache.read(try readings.cache.demand(readings.key, readings.options))
        if let refresh = reading.refresh { step = .second(refresh) }
        return reading.resource
      case .second(let refresh):
        step = .end
        let result = await withTaskCancellationHandler {
          await refresh.value
        } onCancel: {
          refresh.cancel()
        }
        return try result.get()
      case .end: return nil
      }
    }
  }
}

/// The states to show for a resource: the result of `ResourceCache.states`. Never fails, because a failure is a state.
package struct ResourceStates: AsyncSequence, Sendable {
  package typealias Element = ResourceState
  package typealias Failure = Never

  let cache: ResourceCache
  let readings: ResourceReadings
  let key: ResourceKey

  package func makeAsyncIterator() -> Iterator {
    Iterator(cache: cache, key: key, readings: readings.makeAsyncIterator())
  }

  package struct Iterator: AsyncIteratorProtocol {
    let cache: ResourceCache
    let key: ResourceKey
    var readings: ResourceReadings.Iterator
    private var isStarted = false
    private var last: CachedResource?
    private var isOver = false

    init(cache: ResourceCache, key: ResourceKey, readings: ResourceReadings.Iterator) {
      self.cache = cache
      self.key = key
      self.readings = readings
    }

    package mutating func next() async -> ResourceState? { await next(isolation: nil) }

    package mutating func next(isolation actor: isolated (any Actor)?) async -> ResourceState? {
      if !isStarted {
        isStarted = true
        if cache.peek(key) == nil { return .loading }
      }
      if isOver { return nil }
      do throws(BothyError) {
        guard let resource = try await readings.next(isolation: actor) else { return nil }
        last = resource
        return resource.isAbsent ? .absent : .loaded(resource)
      } catch {
        isOver = true
        if let last, !last.isAbsent { return .loaded(last.with(freshness: .stale(.refreshFailed(error)))) }
        return error.code == .offline ? .suspended : .failed(error)
      }
    }
  }
}
