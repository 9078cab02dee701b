/// Where a new answer goes among those that are kept under one key, and which of them it makes useless: a decision, no
/// act.
///
/// All answers under a key depend on the same fields and differ in their values, so that a request has one answer at
/// most (RFC 9111 §4.1): one that depends on other fields than those before takes the place of all of them.
package struct VariantPlace: Sendable, Hashable {
  package var variant: UInt8
  /// Others that are to go.
  package var outdated: [UInt8]

  /// The place of the one answer of a resource that does not vary.
  package static let only = VariantPlace(variant: 0, outdated: [])

  private init(variant: UInt8, outdated: [UInt8]) {
    self.variant = variant
    self.outdated = outdated
  }

  /// - Parameter stored: what is kept under the key, by variant.
  package init(of new: EntryMetadata, among stored: [(variant: UInt8, metadata: EntryMetadata)]) {
    let rest = stored.filter { !Self.outdates(new, $0.metadata) }
    let same = stored.first { !new.variedOn.isEmpty && $0.metadata.variedOn == new.variedOn }
    let taken = Set(rest.map(\.variant))
    let free = (0..<ResourceKey.variantCount).first { !taken.contains($0) }
    let oldest = rest.min { ($0.metadata.validatedAt, $0.variant) < ($1.metadata.validatedAt, $1.variant) }
    let variant = same?.variant ?? free ?? oldest?.variant ?? 0
    self.variant = variant
    outdated = stored.map(\.variant).filter { $0 != variant && !taken.contains($0) }
  }

  /// Whether a new answer is in the place of an old one for everybody who could be given that.
  package static func outdates(_ new: EntryMetadata, _ old: EntryMetadata) -> Bool {
    new.variedOn == old.variedOn || new.variedOn.map(\.name) != old.variedOn.map(\.name)
  }
}
