import BothyCore
import Foundation
package import HTTPTypes

/// The effect of a response on the stored entry, as a pure decision.
package enum ResponseEvaluator: Sendable, Hashable {
  /// The response replaces the entry. A negative entry has no body, except under a rule that keeps every status.
  case store(EntryMetadata)
  /// The stored bytes are confirmed and get this metadata. The time of their arrival stays.
  case renew(EntryMetadata)
  /// The stored bytes are confirmed, but the response forbids storing them. They are returned with this metadata and
  /// removed.
  case release(EntryMetadata)
  /// The server confirmed an entry that the cache does not have, so repeat the request without a condition.
  case requestAgain
  /// A good response that must not be stored. If `dropsStored` is true, the outdated entry is removed.
  case handOut(EntryMetadata, NotStoredReason, dropsStored: Bool)
  /// The response isn't usable, and the stored entry stays. It may be returned in place of the response.
  case fail(ResponseError)

  /// Decides on the effect of a response.
  /// - Parameters:
  ///   - stored: the metadata of the entry of the same variant when the response came, or `nil` if it was removed since
  ///     the request.
  ///   - expectation: the content that the source expects.
  ///   - objection: the reason of `ReplacementRule` why the response may not replace the stored entry.
  ///   - isPinned: true if the stored entry is pinned. A response that must not be stored then removes nothing.
  ///   - expiresAt: the item's own end of freshness.
  ///   - isStoredUsable: true if the stored entry may replace a failed response. An error of the server is then a
  ///     failure even under a rule that keeps every status (RFC 5861 §4).
  ///   - decodes: true if the transport has undone content codings.
  package init(
    of answer: ReceivedResponse, stored: EntryMetadata?, rule: FreshnessRule,
    expectation: ContentExpectation? = nil,
    objection: ContentMismatch? = nil, isPinned: Bool = false, expiresAt: Int64? = nil,
    isStoredUsable: Bool = false, decodes: Bool = true
  ) {
    let kind = AnswerKind(status: answer.status)
    if kind == .notModified {
      self = Self.confirmation(answer, stored, rule, expiresAt)
      return
    }
    let isEntry =
      kind == .body || kind == .negative
      || (rule.keepsEveryStatus && kind != .interim
        && !(isStoredUsable && AnswerKind.isServerError(answer.status)))
    guard isEntry else {
      self = .fail(
        ResponseError(
          status: answer.status, isTransient: kind == .retry || kind == .interim,
          retryAfter: RetryAfter.milliseconds(answer.fields, at: answer.receivedAt)))
      return
    }
    let unexpected =
      kind == .body ? expectation?.mismatch(fields: answer.fields, body: answer.body) ?? objection : objection
    if let mismatch = unexpected {
      let isTransient = mismatch == .empty || mismatch == .cut
      self = .fail(ResponseError(status: answer.status, isTransient: isTransient, mismatch: mismatch))
      return
    }
    let entry = Self.entry(answer, rule, expiresAt, decodes)
    let obstacle = Storability.obstacle(
      method: answer.method, request: answer.request, status: answer.status, fields: answer.fields, rule: rule
    )
    switch obstacle {
    case nil: self = .store(entry)
    case let reason?:
      // An error says nothing about the bytes that are stored.
      let drops = reason == .answerForbids && !isPinned && !AnswerKind.isServerError(answer.status)
      self = .handOut(entry, reason, dropsStored: drops)
    }
  }

  private static func confirmation(
    _ answer: ReceivedResponse, _ stored: EntryMetadata?, _ rule: FreshnessRule, _ expiresAt: Int64?
  ) -> ResponseEvaluator {
    let renewed = stored.flatMap {
      Validation.renewed(
        $0, by: answer.fields, requestedAt: answer.requestedAt, receivedAt: answer.receivedAt, rule: rule)
    }
    guard var renewed else { return .requestAgain }
    renewed.expiresAt = expiresAt
    let obstacle = Storability.obstacle(
      method: answer.method, request: answer.request, status: renewed.status, fields: renewed.fields,
      rule: rule)
    return obstacle == .answerForbids ? .release(renewed) : .renew(renewed)
  }

  private static func entry(
    _ answer: ReceivedResponse, _ rule: FreshnessRule, _ expiresAt: Int64?, _ decodes: Bool
  ) -> EntryMetadata {
    var metadata = EntryMetadata(
      status: answer.status, fields: Storability.storable(answer.fields),
      requestedAt: answer.requestedAt, receivedAt: answer.receivedAt, validatedAt: answer.receivedAt,
      freshness: FreshnessMetadata(
        status: answer.status, fields: answer.fields, requestedAt: answer.requestedAt,
        receivedAt: answer.receivedAt, rule: rule),
      variedOn: Vary(answer.fields).values(in: answer.request, decodes: decodes), expiresAt: expiresAt)
    metadata.cameCoded = answer.wasCoded
    return metadata
  }
}

extension RetryAfter {
  /// Returns the milliseconds from the arrival of the response, or `nil` if it has no readable `Retry-After`.
  package static func milliseconds(_ fields: HTTPFields, at now: Int64) -> Int64? {
    fields[.retryAfter].flatMap { milliseconds($0, date: fields[.date], now: now) }
  }
}
