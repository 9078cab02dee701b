public import BothyCache

// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension OfflineRegions.Plan {
  @available(*, unavailable, message: "Write the zooms as `zooms: try ZoomRange(0, 14)`.")
  public init(name: String, source: SourceID, area: RegionArea, zooms: ClosedRange<Int>) {
    self.init(name: name, source: source, area: area, zooms: ZoomRange(unchecked: zooms))
  }
}

extension OfflineRegions {
  @available(*, unavailable, renamed: "resume(_:)")
  public func download(_ id: Region.ID) async throws -> Region { try await resume(id) }
}
