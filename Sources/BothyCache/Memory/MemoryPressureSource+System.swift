#if canImport(Darwin)
  internal import Dispatch

  extension MemoryPressureSource {
    /// The system's own notices of memory pressure.
    ///
    /// They come on a queue of the source's own, and each of them empties memory.
    package static let system = MemoryPressureSource { report in
      let source = DispatchSource.makeMemoryPressureSource(
        eventMask: [.warning, .critical], queue: DispatchQueue(label: "bothy.cache.pressure"))
      source.setEventHandler { report(.warning) }
      source.activate()
      return SystemPressure(source)
    }
  }

  /// The system's event source, kept as long as the cache.
  ///
  /// Unchecked because the source is never used again, except to cancel it.
  private final class SystemPressure: @unchecked Sendable {
    private let source: any DispatchSourceMemoryPressure
    init(_ source: any DispatchSourceMemoryPressure) { self.source = source }
    deinit { source.cancel() }
  }
#else
  extension MemoryPressureSource {
    /// An empty source, because this system sends no notices. The app calls `ResourceCache.releaseMemory`.
    package static let system = MemoryPressureSource.none
  }
#endif
