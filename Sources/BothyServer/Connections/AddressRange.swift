import Foundation
package import NIOCore

/// A range of IP addresses: one address, or all that begin with the same bits.
public struct AddressRange: Sendable, Hashable {
  private let first: NetworkAddress
  private let bits: Int

  /// The addresses of the machine itself: 127.0.0.0/8 and ::1. The default of `ServerConfiguration.proxies`.
  public static let loopback = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }

  /// Parses `10.0.0.5`, `10.0.0.0/8`, `fd00::1` or `fd00::/8`. Returns `nil` for other texts, and for names
  /// of hosts.
  ///
  /// Bits after the length of the prefix don't count. Nothing is looked up.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let address = NetworkAddress(String(parts[0])) else { return nil }
    let width = address.isIPv4 ? 32 : 128
    guard let bits = parts.count == 1 ? width : Int(parts[1]), (0...width).contains(bits) else { return nil }
    self.bits = bits + (128 - width)
    first = address.prefix(self.bits)
  }

  /// Returns true if the range has the address.
  package func contains(_ address: NetworkAddress) -> Bool { address.prefix(bits) == first }
}

/// An IP address as a number. An IPv4 address is the number of its form in IPv6, `::ffff:10.0.0.5`.
package struct NetworkAddress: Sendable, Hashable {
  private let number: UInt128

  private init(number: UInt128) { self.number = number }

  /// Parses an address without a port. Returns `nil` for other texts.
  package init?(_ text: String) {
    guard let address = try? SocketAddress(ipAddress: text, port: 0) else { return nil }  // not an address
    self.init(address)
  }

  /// Returns `nil` for a socket of this machine without an IP address.
  package init?(_ address: SocketAddress) {
    switch address {
    case .v4(let address):
      number = 0xffff << 32 | withUnsafeBytes(of: address.address.sin_addr) { Self.number($0) }
    case .v6(let address):
      number = withUnsafeBytes(of: address.address.sin6_addr) { Self.number($0) }
    case .unixDomainSocket: return nil
    }
  }

  /// True for an address of IPv4, in either form.
  var isIPv4: Bool { number >> 32 == 0xffff }

  /// The addresses that are counted as one: an IPv4 address by itself, and the 64 bits that one IPv6 network shares.
  var network: NetworkAddress { isIPv4 ? self : prefix(64) }

  /// Returns the address with its first bits alone, and zeros behind them.
  func prefix(_ bits: Int) -> NetworkAddress {
    NetworkAddress(number: number & (bits == 0 ? 0 : UInt128.max << (128 - bits)))
  }

  private static func number(_ bytes: UnsafeRawBufferPointer) -> UInt128 {
    bytes.reduce(0) { $0 << 8 | UInt128($1) }
  }
}
