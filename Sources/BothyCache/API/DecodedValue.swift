internal import Synchronization

/// The name of a decoded value in memory: its response and its type.
struct DecodedKey: Hashable, Sendable {
  var resource: ResourceKey
  /// The request fields that distinguish responses for different requests.
  var variedOn: [VariedField]
  var type: String
  var version: Int
}

/// A value that was decoded from one version of a resource's bytes.
struct DecodedValue: Sendable {
  var value: any Sendable
  var stored: StoredEntry
}

/// Lets one caller at a time decode a key, so that other callers find its value.
final class DecodingStripes: Sendable {
  private final class Stripe: Sendable { let lock = Mutex(()) }

  private let stripes = (0..<16).map { _ in Stripe() }

  func run<Result: Sendable>(_ key: DecodedKey, _ work: () throws -> Result) throws -> Result {
    let stripe = stripes[Int(UInt(bitPattern: key.hashValue) % UInt(stripes.count))]
    return try stripe.lock.withLock { _ in try work() }
  }
}
