/// The options of one call that differ from the store's configuration. `nil` leaves the configuration's value.
package struct RequestOptions: Sendable {
  /// The source of a read. Types that are not synced are always read from the local store.
  package var readPolicy: ReadPolicy?
  /// The destination that a write reaches first. Changes of server-only types are always sent to the server, and types
  /// that are not synced stay here.
  package var writePolicy: WritePolicy?
  /// False if results of the network aren't stored in the local store.
  package var cacheResults: Bool?
  /// True if a deletion of a record that isn't on this device is sent, in case the server has it.
  package var assumesRemote: Bool
  /// The longest time a read under `.syncThenLocal` waits for its sync. The sync continues after that.
  package var timeout: Duration?
  /// The failure of the local store to take the write, so that the server alone gets it.
  var storeFailure: BothyError?

  /// Makes options that differ from the configuration in the given values.
  package init(
    readPolicy: ReadPolicy? = nil, writePolicy: WritePolicy? = nil, cacheResults: Bool? = nil,
    assumesRemote: Bool = false, timeout: Duration? = nil
  ) {
    self.readPolicy = readPolicy
    self.writePolicy = writePolicy
    self.cacheResults = cacheResults
    self.assumesRemote = assumesRemote
    self.timeout = timeout
  }
}
