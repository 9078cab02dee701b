public import BothyStore

extension SyncedStore {
  /// The local file, for the benchmarks, which are a package of their own and measure its blocking calls.
  @_spi(Benchmarks) public var localFile: LocalStore { store }

  /// Closes the file, after transactions that are running. Later calls throw `BothyError`.
  public func close() throws { try store.close() }

  /// The changed records of each commit of this process from now on, with their origin: an array for each commit. Commits of
  /// other processes are left out.
  ///
  /// While a listener exists, each write costs a note, and a write from the server one more look-up. A slow listener
  /// receives all events later. Ends when the store is closed.
  public var events: AsyncStream<[RecordChange]> { store.events }
}
