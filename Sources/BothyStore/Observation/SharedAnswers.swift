/// The answers that observers read in one transaction. Equal questions share one, so that a hundred observers of one
/// query cost one read of it.
struct SharedAnswers {
  /// A value and its fingerprint.
  struct Answer<Value: Sendable> {
    let value: Value
    let fingerprint: RowFingerprint
  }

  /// Requests of different types may read the same rows, as a list of them or as their first one.
  private struct Question: Hashable {
    let identity: ReadIdentity
    let type: ObjectIdentifier
  }

  private var known: [Question: Any] = [:]

  subscript<Value: Sendable>(plan: ReadTransaction.Plan<Value>) -> Answer<Value>? {
    get { known[Self.question(plan)] as? Answer<Value> }
    set { known[Self.question(plan)] = newValue }
  }

  private static func question<Value: Sendable>(_ plan: ReadTransaction.Plan<Value>) -> Question {
    Question(identity: plan.identity, type: ObjectIdentifier(Value.self))
  }
}

extension ReadTransaction {
  /// Returns the answer to a request, which is read once for all observers that ask for it in this transaction.
  func answer<Value: Sendable>(to plan: Plan<Value>) throws -> SharedAnswers.Answer<Value> {
    if let known = answers?[plan] { return known }
    var fingerprint: RowFingerprint? = RowFingerprint()
    let value = try plan.run(self, &fingerprint)
    let answer = SharedAnswers.Answer(value: value, fingerprint: fingerprint ?? RowFingerprint())
    answers?[plan] = answer
    return answer
  }
}
