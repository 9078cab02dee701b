import BothyCache
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

/// What a target of requests means, and the head that its answer goes out with: worked out once, because a program
/// asks for the same tiles again and again.
final class ProxyTarget: Sendable {
  /// What goes out with one version of the bytes: it changes with the age alone.
  final class Prepared: Sendable {
    fileprivate let number: UInt64
    let fields: ProxyFields.Stored
    /// Of an answer with all of the bytes, out of the cache and to a connection that goes on: up to its age, which comes
    /// last.
    let head: ByteBuffer

    fileprivate init(_ stored: StoredEntry) {
      number = stored.number
      fields = ProxyFields.Stored(stored.entry.metadata)
      let answer = ProxyAnswer(
        status: stored.entry.metadata.status, fields: fields.fields, cacheStatus: ProxyAnswer.hit,
        body: .whole(stored.entry.body))
      var head = ByteBuffer()
      answer.framed(in: .http1_1, isLast: false).head.write(into: &head)
      head.writeStaticString("Age: ")
      self.head = head
    }
  }

  let key: ResourceKey
  /// The address at the origin.
  let url: String
  /// Whether that is the one that the cache asks under; another spelling is passed on.
  let isPlain: Bool
  private let latest = Mutex<Prepared?>(nil)

  /// - Throws: `CacheError.invalidKey` when the origin has no such address.
  init(_ target: String, of origin: String, _ source: ResourceSource) throws(CacheError) {
    url = origin + target
    key = try source.key(url: url)
    isPlain = source.publicURL(for: key) == url
  }

  /// What is remembered of one, about: the object, its strings and some fields.
  static func cost(_ target: String) -> Int { 2048 + 3 * target.utf8.count }

  func prepared(_ stored: StoredEntry) -> Prepared {
    if let known = latest.withLock({ $0 }), known.number == stored.number { return known }
    let new = Prepared(stored)
    latest.withLock { $0 = new }
    return new
  }
}
