public import BothyCore
public import HTTPTypes

extension ResourceCache {
  /// The options of one read.
  ///
  /// ```swift
  /// let options = ResourceCache.Options(priority: .visible) { progress in show("\(progress.received) bytes") }
  /// let picture = try await cache.value(try api.key(path: "hut.jpeg"), options)
  /// ```
  public struct Options: Sendable {
    /// The places that the read uses. The default is `localElseRemote`.
    package var policy: ReadPolicy
    /// True if a request carries no condition, and no stored entry answers the read. The policy `local` ignores it.
    package var ignoresStored = false
    /// The urgency of a request, if the read sends one. The default is `normal`.
    package var priority: ResourceCache.Priority
    /// The rule for this resource, which replaces the source's rule.
    package var freshness: FreshnessRule?
    /// Fields of this request, besides those of the source.
    package var fields: HTTPFields
    /// Query items of this request that the key does not have, such as signatures that change with each read.
    package var query: [String: String]
    /// The time from which the bytes count as stale in any case, in milliseconds since 1970.
    package var expiresAt: Int64?
    /// True if a read without a stored entry waits for a host that requested a pause or counts as down.
    ///
    /// The source's limits set how long it waits. A caller that tries again later anyway does not need this.
    package var waitsForHost = true
    /// True if a read that can return a stored copy waits for the end of the request, however long it takes.
    ///
    /// It is for work in the background that no user waits for, and for callers that keep HTTP's rules to the letter.
    package var waitsForEnd = false
    /// Called with the progress of the download that this read waits for, even if another reader began it.
    ///
    /// Called from any thread.
    package var progress: (@Sendable (ResourceCache.Progress) -> Void)?
    package var typed: TypedDemand?
    /// Called before a response with bytes, or one that says that nothing exists, replaces the stored entry.
    ///
    /// False rejects the response as unexpected content. It may wait for other requests. A read that joins another read's
    /// request accepts what that read admits.
    package var admits: (@Sendable (ReplacementCandidate) async -> Bool)?
    /// The object that decides in `admits`, or `nil`. Its reads share requests among themselves alone.
    package var judge: ObjectIdentifier?
    /// The metadata of bytes that the caller has itself, from an earlier read. The cache may have lost them.
    ///
    /// They count as pinned: a response that says that the resource is gone, or is empty, fails with `.absent`.
    /// Without a stored entry, its validators make the request conditional. If the server confirms the bytes, the result
    /// has the status 304, no bytes, and the renewed metadata.
    package var held: EntryMetadata?
    /// True if the caller calls `settle` soon, so that a confirmation may be written with later ones.
    package var sharesConfirmation = false
    /// The place for a response that would replace a stored entry, or `nil` to replace it at once.
    package var stage: EntryStage?
    /// The holder of a pin that doesn't keep an entry when the server says that the resource is gone, or `nil`. The app
    /// has decided so for this holder. An entry that others have pinned stays.
    package var evictingHolder: String?

    /// The options of a read that downloads the resource again, whole.
    ///
    /// The request carries no condition, and no stored entry answers the read or replaces a failed response. Even an
    /// immutable resource is requested. The stored entry stays until a good response replaces it.
    public static var reload: ResourceCache.Options {
      var options = ResourceCache.Options(policy: .remote)
      options.ignoresStored = true
      return options
    }

    /// Creates options. By default the read uses the cache, then the network, by the source's rule.
    ///
    /// - Parameters:
    ///   - policy: the places that the read uses.
    ///   - priority: the urgency of a request, if the read sends one. A shared request has the highest of its readers.
    ///   - freshness: the rule for this resource, which replaces the source's rule. It is not stored.
    ///   - fields: fields of this request, besides those of the source. They replace fields of equal names.
    ///   - query: query items of this request that the key does not have, such as signatures that change with each read.
    ///   - expiresAt: the time from which the bytes count as stale in any case, in milliseconds since 1970. It is stored
    ///     with the response.
    ///   - progress: called from any thread with the progress of the download that this read waits for.
    public init(
      policy: ReadPolicy = .localElseRemote, priority: ResourceCache.Priority = .normal,
      freshness: FreshnessRule? = nil,
      fields: HTTPFields = [:], query: [String: String] = [:], expiresAt: Int64? = nil,
      progress: (@Sendable (ResourceCache.Progress) -> Void)? = nil
    ) {
      self.policy = policy
      self.priority = priority
      self.freshness = freshness
      self.fields = fields
      self.query = query
      self.expiresAt = expiresAt
      self.progress = progress
    }
  }
}
