/// The result of a check of a store.
package struct StoreDiagnosis: Sendable, Hashable {
  /// The findings of the file, then of the tables, rows, indexes and references of each type. Those of other modules
  /// follow.
  package var findings: [Finding]

  /// The findings that need attention, a few sentences each: the seriousness, the problem and the remedy. Empty for a
  /// sound store.
  package var problems: [String] { findings.filter { $0.severity != .note }.map(\.description) }

  /// True if no finding needs attention.
  package var isHealthy: Bool { findings.allSatisfy { $0.severity == .note } }

  /// True if `LocalStore.repair` can change something.
  package var isRepairable: Bool { findings.contains { $0.repair != nil } }

  /// A deviation that a check found.
  package struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// The seriousness of a finding. A store with only notes is healthy.
    package enum Severity: String, Sendable, Hashable, CaseIterable {
      /// Information that needs no action. `problems` leaves it out.
      case note
      /// Results may be slow or incomplete. No data is lost.
      case warning
      /// Data is damaged or can't be read.
      case error
    }

    /// A part that can be recreated from the records.
    package enum Repair: Sendable, Hashable {
      /// The B-tree, full-text and place indexes of a type.
      case indexes(type: String)
      /// The entries of one field in the index of list references.
      case links(type: String, field: String)
      /// Entries of fields that are not declared.
      case strayLinks
      /// SQLite's own indexes, all of them.
      case reindex
    }

    /// The seriousness of the finding.
    package var severity: Severity
    /// The check that reported it: `file`, `tables`, `rows`, `text`, `places`, `links`, or a module's own.
    package var check: String
    /// One or two sentences about the problem that name the table, record or index.
    package var message: String
    /// A sentence about the remedy.
    package var remedy: String
    /// The repair, or nil if the store can't repair it.
    package var repair: Repair?

    /// Creates a finding. Without `repair`, `LocalStore.repair` ignores it.
    package init(
      _ severity: Severity, check: String, _ message: String, remedy: String, repair: Repair? = nil
    ) {
      self.severity = severity
      self.check = check
      self.message = message
      self.remedy = remedy
      self.repair = repair
    }

    package var description: String { "\(severity.rawValue) (\(check)): \(message) \(remedy)" }
  }
}

/// A check that another module adds, for example of its own tables.
package protocol StoreCheck: Sendable {
  /// Returns the findings. Only reads. An error that it throws becomes a finding.
  func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding]
}
