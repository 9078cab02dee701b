public import BothyStore

/// The decision of a rule on one proposed write.
///
/// The static members make them. A decision that can't be carried out counts as undecided.
public struct WriteDecision: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case accept
    case set([String: JSONValue])
    case replace([String: JSONValue])
    case refuse(Rejection)
    case undecided(String)
  }

  package let kind: Kind

  /// The write is applied as it was sent.
  public static let accept = WriteDecision(kind: .accept)

  /// The write is applied with these fields besides its own. A null clears a field. The device receives the record.
  ///
  /// The names are wire names. The result must fit the schema, and the sender's permissions don't concern it. A
  /// deletion can't be amended, and neither can leaving a list.
  public static func amend(setting fields: [String: JSONValue]) -> WriteDecision {
    WriteDecision(kind: .set(fields))
  }

  /// The write is applied, and the record has these fields and no others. The device receives the record.
  ///
  /// The names are wire names. The result must fit the schema. A deletion can't be amended.
  public static func amend(replacingAllBy fields: [String: JSONValue]) -> WriteDecision {
    WriteDecision(kind: .replace(fields))
  }

  /// The write is rejected, and the others of its group wait for it. The device receives the code and the message.
  ///
  /// A refusal beyond these limits counts as undecided. So does one with a code that the protocol reserves:
  /// `incompleteGroup` and `serverError`.
  ///
  /// - Parameters:
  ///   - code: the code that the app branches on, of 1 to 64 bytes. `forbidden` counts as a refusal of access.
  ///   - message: a sentence for people, of 1 to 2,000 bytes.
  ///   - fields: the problems of at most 20 fields.
  public static func refuse(
    _ code: String, _ message: String, fields: [Rejection.FieldError] = []
  ) -> WriteDecision {
    WriteDecision(kind: .refuse(Rejection(code: code, message: message, fields: fields)))
  }

  /// The rule can't decide now. The request is answered as `AccessRules.acceptsUndecided` says.
  ///
  /// - Parameter reason: for a log, without content of records.
  public static func undecided(_ reason: String) -> WriteDecision { WriteDecision(kind: .undecided(reason)) }
}

extension WriteDecision {
  /// The reason of an undecided write, or `nil` for a decision.
  package var outage: String? { if case .undecided(let reason) = kind { reason } else { nil } }

  /// Returns the reason why the decision can't be carried out, or `nil` if it can. Pure.
  package func problem(with write: ProposedWrite) -> String? {
    switch kind {
    case .accept, .undecided: return nil
    case .set, .replace:
      if write.leavesList { return "leaving a list is amended" }
      return write.kind == .delete ? "a deletion is amended" : nil
    case .refuse(let rejection):
      // Rejections are remembered, so their size is limited. Both codes have another meaning for devices.
      let isReserved = rejection.code == Rejection.incompleteGroup || rejection.leavesDoubt
      let fits =
        Self.fits(rejection.code, 64) && Self.fits(rejection.message, FixedLimits.refusalMessage)
        && rejection.fields.count <= FixedLimits.refusalFields
        && rejection.fields.allSatisfy {
          Self.fits($0.field, 128) && Self.fits($0.code, 64)
            && Self.fits($0.message, FixedLimits.refusalMessage)
        }
      return isReserved ? "a refusal has a reserved code" : fits ? nil : "a refusal is empty or too long"
    }
  }

  private static func fits(_ text: String, _ limit: Int) -> Bool { (1...limit).contains(text.utf8.count) }

  /// Returns the operation with the fields of an amendment, or `nil` for another decision.
  ///
  /// - Parameter known: the fields of the record before it.
  func amended(_ operation: SyncOperation, over known: [String: JSONValue]) -> SyncOperation? {
    var amended = operation
    switch kind {
    case .set(let fields): amended.fields.merge(fields) { $1 }
    case .replace(let fields):
      amended.fields = operation.kind == .update ? known.mapValues { _ in .null } : [:]
      amended.fields.merge(fields) { $1 }
    case .accept, .refuse, .undecided: return nil
    }
    return amended
  }
}
