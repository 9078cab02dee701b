package import Foundation
public import HTTPTypes

/// Whom a read asks, in which order.
public enum ReadMode: String, Sendable, Hashable, CaseIterable {
  /// The cache alone, whatever is stored there and whatever its server says of stale copies; never waits for a network.
  case cacheOnly
  /// The cache; the network when nothing fresh is stored. The default.
  ///
  /// What is stale and may be used when the server fails is handed out at once, and refreshed behind, where it is pinned
  /// or the read is `visible`: nobody looks at a gap while a server hangs. Other reads wait for the server's word.
  case cacheElseNetwork
  /// The network, on condition that it has something newer; what is stored when it brings nothing.
  case networkElseCache
  /// The network, with no condition; what is stored is not looked at.
  case networkOnly
  /// The network, on condition that it has something newer; fails when it cannot be asked.
  case revalidate
  /// What is stored at once, fresh or marked as stale, and then what the network brings: with `values`, both; with
  /// `value`, the first.
  case staleThenFresh
}

/// An answer that is about to be stored.
package struct Admission: Sendable {
  package var key: ResourceKey
  package var status: Int
  package var body: Data
  /// What it would replace.
  package var stored: CacheEntry?

  /// Whether it says that there is nothing.
  package var isNegative: Bool { AnswerKind.isNegative(status) }
}

/// How one read differs from others.
public struct ReadOptions: Sendable {
  /// Whom the read asks; `cacheElseNetwork` unless told otherwise.
  public var mode: ReadMode
  /// How urgent the request is, if there is one; `normal` unless told otherwise.
  public var priority: LoadPriority
  /// Wins over the source's rule, for this resource.
  public var freshness: FreshnessRule?
  /// Fields for this request besides the source's.
  public var fields: HTTPFields
  /// Query items for this request that the key does not have: signatures that change with each read.
  public var query: [String: String]
  /// From this moment on the bytes count as stale whatever else is said; milliseconds since 1970.
  public var expiresAt: Int64?
  /// Whether a read that has nothing to hand out waits for a server that asked for a pause or is taken to be down, as long
  /// as the source's limits say. One who comes back later anyway has no need to.
  public var isPatient = true
  /// Told how far the download is that this read waits for, also one that another reader began. Called from any thread.
  public var progress: (@Sendable (LoadProgress) -> Void)?
  package var typed: TypedDemand?
  /// Asked before an answer with bytes, or that there is nothing, takes the place of what is stored. False refuses it as
  /// unexpected content. Who joins another's request takes what that one admits.
  package var admits: (@Sendable (Admission) -> Bool)?
  /// Whether what is pinned may go where the server says that it is gone: somebody has decided so.
  package var letsGo = false

  /// A read of the cache, else of the network, by the source's rule, unless told otherwise.
  public init(
    mode: ReadMode = .cacheElseNetwork, priority: LoadPriority = .normal, freshness: FreshnessRule? = nil,
    fields: HTTPFields = [:], query: [String: String] = [:], expiresAt: Int64? = nil
  ) {
    self.mode = mode
    self.priority = priority
    self.freshness = freshness
    self.fields = fields
    self.query = query
    self.expiresAt = expiresAt
  }
}
