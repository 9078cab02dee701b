/// The result of a check of all data in a space.
///
/// A space is in order if both arrays are empty.
public struct SpaceCheck: Sendable, Hashable {
  /// The digest of all live records, including those with a restricted audience.
  package var digest: ScopeDigest
  /// The names of blobs that records refer to and that are missing, including damaged ones.
  ///
  /// Sorted, as SHA-256 in hexadecimal. Empty on a server without a vault.
  public var missingBlobs: [String]
  /// The names of blobs that had another checksum than their name. They were quarantined.
  ///
  /// Sorted, and each is in `missingBlobs` too. Empty if the check didn't read the blobs.
  public var damagedBlobs: [String] = []
}
