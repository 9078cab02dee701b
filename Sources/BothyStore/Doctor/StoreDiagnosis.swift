/// What an examination of a store found. Empty findings mean that nothing is wrong.
public struct StoreDiagnosis: Sendable, Hashable {
  /// The file first, then type by type its table, rows, indexes and links; what other modules add comes last.
  public var findings: [Finding]

  /// Nothing was found that needs attention.
  public var isHealthy: Bool { findings.allSatisfy { $0.severity == .note } }

  /// Whether `Store.repair` would change something.
  public var isRepairable: Bool { findings.contains { $0.repair != nil } }

  /// One thing that is not as it should be.
  public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// How bad a finding is. A store with nothing but notes is healthy.
    public enum Severity: String, Sendable, Hashable, CaseIterable {
      /// Worth knowing, nothing to do.
      case note
      /// Answers may be slow or incomplete, no data is lost.
      case warning
      /// Data is damaged or can't be read.
      case error
    }

    /// What can be made again from the rows.
    public enum Repair: Sendable, Hashable {
      /// The B-tree, full-text and place indexes of a type.
      case indexes(type: String)
      /// The entries of one field in the index of list references.
      case links(type: String, field: String)
      /// Entries of fields that are not declared.
      case strayLinks
      /// SQLite's own indexes, all of them.
      case reindex
    }

    /// How bad it is.
    public var severity: Severity
    /// The check that found it: `file`, `tables`, `rows`, `text`, `places`, `links`, or a module's own.
    public var check: String
    /// What is wrong, as one or two sentences that name the table, record or index.
    public var message: String
    /// What to do about it, as a sentence.
    public var remedy: String
    /// Nil when the store can't mend it by itself.
    public var repair: Repair?

    /// Without `repair`, `Store.repair` leaves it alone.
    package init(
      _ severity: Severity, check: String, _ message: String, remedy: String, repair: Repair? = nil
    ) {
      self.severity = severity
      self.check = check
      self.message = message
      self.remedy = remedy
      self.repair = repair
    }

    public var description: String { "\(severity.rawValue) (\(check)): \(message) \(remedy)" }
  }
}

/// An examination that another module adds: of its own tables, say.
package protocol StoreCheck: Sendable {
  /// Reads only. A throw becomes a finding.
  func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding]
}
