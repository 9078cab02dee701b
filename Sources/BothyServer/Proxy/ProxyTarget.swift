import BothyCache
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

/// The meaning of a request's target, and the head of the response to it. Both are computed once, because a program
/// requests the same tiles again and again.
final class ProxyTarget: Sendable {
  /// The fields and head for one version of the bytes. Only the age changes.
  final class Prepared: Sendable {
    fileprivate let number: UInt64
    let fields: ProxyFields.Stored
    /// The head of a cached response with all of the bytes, to a connection that stays open. It ends before the value
    /// of `Age`, which comes last.
    let head: ByteBuffer

    fileprivate init(_ stored: StoredEntry, isShared: Bool) {
      number = stored.number
      fields = ProxyFields.Stored(stored.entry.metadata, isShared: isShared)
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
  /// The URL at the origin.
  let url: String
  /// True if the URL is the one that the cache uses. Other spellings are passed on.
  let isPlain: Bool
  /// True for a proxy with several users.
  let isShared: Bool
  private let latest = Mutex<Prepared?>(nil)
  /// The time until which requests are passed on one by one, in milliseconds since 1970.
  private let passedUntil = Mutex<Int64>(.min)

  /// The milliseconds for which requests are passed on one by one after several shared a response for one.
  private static let passTime: Int64 = 120_000

  /// True if several requests shared a response that may be for one of them alone.
  func passes(at now: Int64) -> Bool {
    let end = passedUntil.withLock { $0 }
    return now < end && end - now <= Self.passTime
  }

  /// Notes that several requests shared a response that must not be stored.
  func pass(from now: Int64) { passedUntil.withLock { $0 = now + Self.passTime } }

  /// - Throws: `BothyError.invalidKey` if the origin has no such address.
  init(_ target: String, of origin: String, _ source: ResourceSource) throws(BothyError) {
    url = origin + target
    key = try source.key(url: url)
    isPlain = source.publicURL(for: key) == url
    isShared = source.freshness.isShared
  }

  /// Returns the approximate size in memory of a target: the object, its strings and some fields.
  static func cost(_ target: String) -> Int { 2048 + 3 * target.utf8.count }

  func prepared(_ stored: StoredEntry) -> Prepared {
    if let known = latest.withLock({ $0 }), known.number == stored.number { return known }
    let new = Prepared(stored, isShared: isShared)
    latest.withLock { $0 = new }
    return new
  }
}
