/// The result of a check of all bodies.
package struct VerifyReport: Sendable, Hashable {
  /// The number of checked entries.
  package var checked = 0
  /// The entries whose bytes did not match their checksum. They are quarantined.
  package var damaged: [ResourceKey] = []
  /// Creates an empty report.
  package init() {}
}
