import Synchronization

/// The number of open connections, of all callers and of each address, with limits. It also counts the connections that
/// the server ended.
package final class ConnectionCount: Sendable {
  /// The reason why the server ended a connection.
  package enum Ending: String, Sendable, CaseIterable { case full, address, slowHeader, slowBody, slowReader }

  /// The error for a connection beyond a limit.
  package struct Full: Error {}

  private struct State: Sendable {
    var open = 0
    var byNetwork: [NetworkAddress: Int] = [:]
    var ended: [Ending: Int64] = [:]
    var log = OutageLog()
  }

  private let limit: Int
  private let addressLimit: Int
  private let proxies: [AddressRange]
  private let state = Mutex(State())

  /// - Parameter addressLimit: the open connections of one address.
  /// - Parameter proxies: the addresses that only `limit` applies to, because many callers share them.
  package init(limit: Int, addressLimit: Int = .max, proxies: [AddressRange] = []) {
    self.limit = max(1, limit)
    self.addressLimit = max(1, addressLimit)
    self.proxies = proxies
  }

  /// The number of open connections.
  package var open: Int { state.withLock { $0.open } }

  /// Returns the number of connections that were ended for a reason.
  package func ended(_ reason: Ending) -> Int64 { state.withLock { $0.ended[reason] ?? 0 } }

  /// Counts a new connection. Beyond a limit it returns the reason to end it, and counts nothing but that.
  ///
  /// - Parameter address: the other side's address. Without one, only the limit of all connections applies.
  package func enter(from address: NetworkAddress? = nil) -> Ending? {
    let network = counted(address)
    return state.withLock { state in
      let ofNetwork = network.map { state.byNetwork[$0, default: 0] } ?? 0
      let refusal: Ending? = state.open >= limit ? .full : ofNetwork >= addressLimit ? .address : nil
      if let refusal {
        state.ended[refusal, default: 0] += 1
        return refusal
      }
      state.open += 1
      if let network { state.byNetwork[network] = ofNetwork + 1 }
      return nil
    }
  }

  /// Notes the end of a connection for which `enter` returned `nil`.
  package func leave(from address: NetworkAddress? = nil) {
    let network = counted(address)
    state.withLock { state in
      state.open -= 1
      guard let network, let count = state.byNetwork[network] else { return }
      state.byNetwork[network] = count > 1 ? count - 1 : nil
    }
  }

  /// Returns true if a refused address is due for a line of the log: the first one, and one a minute from then on.
  ///
  /// - Parameter now: a time in milliseconds.
  package func isLineDue(at now: Int64) -> Bool { state.withLock { $0.log.failed(at: now) != nil } }

  func end(_ slowness: ConnectionPace.Slowness) {
    let reason: Ending =
      switch slowness {
      case .slowHeader: .slowHeader
      case .slowBody: .slowBody
      case .slowReader: .slowReader
      }
    state.withLock { $0.ended[reason, default: 0] += 1 }
  }

  /// The network that an address counts for, or `nil` for a proxy and where no limit is set.
  private func counted(_ address: NetworkAddress?) -> NetworkAddress? {
    guard addressLimit < .max, let address, !proxies.contains(where: { $0.contains(address) }) else {
      return nil
    }
    return address.network
  }
}
