#if canImport(Darwin)
  internal import Dispatch

  extension MemoryPressureSource {
    /// The system's own notices of memory pressure.
    public static let system = MemoryPressureSource { report in
      let source = DispatchSource.makeMemoryPressureSource(
        eventMask: [.warning, .critical], queue: DispatchQueue(label: "bothy.cache.pressure"))
      source.setEventHandler { report(.warning) }
      source.activate()
      return SystemPressure(source)
    }
  }

  /// Keeps a source of the system until the cache goes. Unchecked: the source is never used again but to cancel it.
  private final class SystemPressure: @unchecked Sendable {
    private let source: any DispatchSourceMemoryPressure
    init(_ source: any DispatchSourceMemoryPressure) { self.source = source }
    deinit { source.cancel() }
  }
#else
  extension MemoryPressureSource {
    /// This system sends no notices; the app calls `ResourceCache.relieve`.
    public static let system = MemoryPressureSource.none
  }
#endif
