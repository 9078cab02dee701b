import BothySyncService
import Crypto

/// The answers of a back end about users, of a bounded number of users, and the rules for how long each holds. Times are
/// in milliseconds, and moments are since 1970.
struct SpaceMemory {
  /// The pause after an outage in which a user isn't asked about again.
  static let pause = Int64(WriteRuleUnavailable.retryAfter) * 1000

  /// The last answer about a user, and the pause after an outage.
  struct Known: Sendable {
    var rights: [String: SpaceRight] = [:]
    /// The moment of the question that was answered, or `nil` without an answer.
    var asked: Int64?
    /// The end of the pause after an outage.
    var restsUntil: Int64?
  }

  /// The standing of an answer in memory.
  enum Standing {
    /// The answer holds.
    case holds(Known)
    /// The answer is too old, but opens the space. During an outage it holds.
    case kept(Known)
    /// Nothing that holds is known, and the back end didn't answer a moment ago.
    case rests
    case ask
  }

  private let lifetime: Int64
  private let refusalLifetime: Int64
  private let outageTime: Int64
  private var users: TwoGenerationCache<SHA256Digest, Known>

  init(_ limits: SpaceCallout.Limits) {
    lifetime = Int64(limits.lifetime / .milliseconds(1))
    refusalLifetime = Int64(limits.refusalLifetime / .milliseconds(1))
    outageTime = Int64(limits.outageTime / .milliseconds(1))
    users = TwoGenerationCache(limit: max(1, limits.principals / 2))
  }

  /// Returns what is known of a user at `now`. After the clock was set back, the age of an answer is unknown, and it
  /// doesn't hold.
  ///
  /// - Parameter space: a space, or `nil` for all of the user.
  mutating func standing(_ key: SHA256Digest, in space: String?, at now: Int64) -> Standing {
    guard let known = users.read(key) else { return .ask }
    let isOpen = space.map { known.rights[$0] != nil } ?? true
    let age = known.asked.map { now - $0 } ?? .max
    if (0..<(isOpen ? lifetime : refusalLifetime)).contains(age) { return .holds(known) }
    guard let end = known.restsUntil, (1...Self.pause).contains(end - now) else { return .ask }
    return isOpen && (0..<outageTime).contains(age) ? .kept(known) : .rests
  }

  mutating func take(_ known: Known, of key: SHA256Digest) { users.insert(key, known, cost: 1) }

  /// Notes that the back end didn't answer. What was known stays.
  mutating func rest(_ key: SHA256Digest, at now: Int64) {
    var known = users.read(key) ?? Known()
    known.restsUntil = now + Self.pause
    users.insert(key, known, cost: 1)
  }
}
