/// The team's own decision about writes, beyond the schema and the permissions.
///
/// `AccessRules.writeRule` has it. It decides about each operation that the server is about to apply, and so never
/// about conflicts, refusals of the server's own or repetitions. A refusal is remembered like that of any other rule.
///
/// ```swift
/// struct KeepBookings: WriteRule {
///   func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
///     proposal.writes.map {
///       $0.record.type == "Booking" && $0.kind == .delete ? .refuse("kept", "Bookings are never deleted.") : .accept
///     }
///   }
/// }
/// ```
public protocol WriteRule: Sendable {
  /// Returns a decision for each of the proposed writes, in their order.
  ///
  /// The call is made outside of any transaction and delays no other request. It limits its own time. It may be called
  /// side by side for several requests. An amended write that others were made on top of is followed by another call
  /// for those. One request has at most four calls.
  ///
  /// - Throws: any error, which means that the rule can't decide now. Nothing of the request is written or remembered
  ///   then, and devices send it again later. Another number of decisions than of writes counts as such an error.
  func decisions(on proposal: WriteProposal) async throws -> [WriteDecision]
}
