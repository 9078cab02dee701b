import BothyCore
package import Foundation
package import HTTPTypes

/// A complete answer, with the request that brought it.
package struct Answer: Sendable {
  package var method: HTTPRequest.Method
  package var request: HTTPFields
  package var status: Int
  package var fields: HTTPFields
  package var body: Data
  package var requestedAt: Int64
  package var receivedAt: Int64

  package init(
    method: HTTPRequest.Method = .get, request: HTTPFields, status: Int, fields: HTTPFields, body: Data,
    requestedAt: Int64, receivedAt: Int64
  ) {
    self.method = method
    self.request = request
    self.status = status
    self.fields = fields
    self.body = body
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
  }
}

/// Why an answer is none: what is stored stays as it is, with its times.
public struct AnswerFailure: Sendable, Hashable {
  /// The status of the answer; 200, say, where it is the content that is not what was expected.
  public var status: Int
  /// Whether asking again may help.
  public var isTransient: Bool
  /// Milliseconds that the server wants to be left alone, by `Retry-After`.
  public var retryAfter: Int64?
  /// How the content differs from what the source brings.
  public var mismatch: ContentMismatch?

  package init(status: Int, isTransient: Bool, retryAfter: Int64? = nil, mismatch: ContentMismatch? = nil) {
    self.status = status
    self.isTransient = isTransient
    self.retryAfter = retryAfter
    self.mismatch = mismatch
  }
}

/// What an answer does to what is stored. Pure: it decides and does nothing.
package enum AnswerJudgement: Sendable, Hashable {
  /// The answer is the entry from now on; a negative one without its body, except where every status is kept.
  case store(EntryMetadata)
  /// The stored bytes are confirmed; these are their new facts.
  case renew(EntryMetadata)
  /// The server says that what is not there has not changed: ask again without a condition.
  case askAnew
  /// A good answer that is not to be kept. What was stored is out of date and goes, if `dropsStored`.
  case handOut(EntryMetadata, NotStoredReason, dropsStored: Bool)
  /// No answer; what is stored stays.
  case fail(AnswerFailure)

  /// - Parameters:
  ///   - stored: what is known of the entry of the same variant when the answer came, not when it was asked for: nil
  ///     if it has gone meanwhile.
  ///   - expectation: what the source's bytes look like.
  ///   - objection: why the answer may not take the place of what is stored, by `ReplacementRule`.
  ///   - isPinned: whether somebody wants what is stored kept: then an answer that may not be kept drops nothing.
  ///   - expiresAt: the item's own end of freshness.
  ///   - isStoredUsable: whether what is stored may be handed out when the server fails; then a server's error is a
  ///     failure also under a rule that keeps every status (RFC 5861 §4).
  ///   - decodes: whether the transport has undone content codings.
  package init(
    of answer: Answer, stored: EntryMetadata?, rule: FreshnessRule, expectation: ContentExpectation? = nil,
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
        AnswerFailure(
          status: answer.status, isTransient: kind == .retry || kind == .interim,
          retryAfter: RetryAfter.milliseconds(answer.fields, at: answer.receivedAt)))
      return
    }
    let unexpected =
      kind == .body ? expectation?.mismatch(fields: answer.fields, body: answer.body) ?? objection : objection
    if let mismatch = unexpected {
      let isTransient = mismatch == .empty || mismatch == .cut
      self = .fail(AnswerFailure(status: answer.status, isTransient: isTransient, mismatch: mismatch))
      return
    }
    let entry = Self.entry(answer, rule, expiresAt, decodes)
    let obstacle = Storability.obstacle(
      method: answer.method, request: answer.request, status: answer.status, fields: answer.fields, rule: rule
    )
    switch obstacle {
    case nil: self = .store(entry)
    case let reason?:
      self = .handOut(entry, reason, dropsStored: reason == .answerForbids && !isPinned)
    }
  }

  private static func confirmation(
    _ answer: Answer, _ stored: EntryMetadata?, _ rule: FreshnessRule, _ expiresAt: Int64?
  ) -> AnswerJudgement {
    let renewed = stored.flatMap {
      Validation.renewed(
        $0, by: answer.fields, requestedAt: answer.requestedAt, receivedAt: answer.receivedAt, rule: rule)
    }
    guard var renewed else { return .askAnew }
    renewed.expiresAt = expiresAt
    return .renew(renewed)
  }

  private static func entry(
    _ answer: Answer, _ rule: FreshnessRule, _ expiresAt: Int64?, _ decodes: Bool
  ) -> EntryMetadata {
    EntryMetadata(
      status: answer.status, fields: Storability.storable(answer.fields, decodes: decodes),
      requestedAt: answer.requestedAt, receivedAt: answer.receivedAt, validatedAt: answer.receivedAt,
      freshness: FreshnessTerms(
        status: answer.status, fields: answer.fields, requestedAt: answer.requestedAt,
        receivedAt: answer.receivedAt, rule: rule),
      variedOn: Vary(answer.fields).values(in: answer.request, decodes: decodes), expiresAt: expiresAt)
  }
}

extension RetryAfter {
  /// Milliseconds from the moment the answer came; nil where it asks for no wait that can be read.
  package static func milliseconds(_ fields: HTTPFields, at now: Int64) -> Int64? {
    fields[.retryAfter].flatMap { milliseconds($0, date: fields[.date], now: now) }
  }
}
