import BothyCache
import NIOHTTP1
import Synchronization

/// What a target of requests means, and the fields that its answer goes out with: worked out once, because a program
/// asks for the same tiles again and again.
final class ProxyTarget: Sendable {
  /// The fields of one version of the bytes, as long as a cache has that: they change with the age alone.
  private struct Prepared {
    weak var stored: StoredEntry?
    var fields = ProxyFields.Stored()
  }

  let key: ResourceKey
  /// The address at the origin.
  let url: String
  /// Whether that is the one that the cache asks under; another spelling is passed on.
  let isPlain: Bool
  private let prepared = Mutex(Prepared())

  /// - Throws: `CacheError.invalidKey` when the origin has no such address.
  init(_ target: String, of origin: String, _ source: ResourceSource) throws(CacheError) {
    url = origin + target
    key = try source.key(url: url)
    isPlain = source.publicURL(for: key) == url
  }

  /// What is remembered of one, about: the object, its strings and some fields.
  static func cost(_ target: String) -> Int { 1024 + 3 * target.utf8.count }

  /// The stored fields as they go out, but for the age.
  func fields(of stored: StoredEntry) -> ProxyFields.Stored {
    prepared.withLock { prepared in
      if prepared.stored !== stored {
        prepared = Prepared(stored: stored, fields: ProxyFields.Stored(stored.entry.metadata))
      }
      return prepared.fields
    }
  }
}
