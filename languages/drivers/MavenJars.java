package sandboxrun;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.maven.AbstractMavenLifecycleParticipant;
import org.apache.maven.MavenExecutionException;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.project.DefaultDependencyResolutionRequest;
import org.apache.maven.project.DependencyResolutionException;
import org.apache.maven.project.MavenProject;
import org.apache.maven.project.ProjectDependenciesResolver;
import org.eclipse.aether.artifact.Artifact;
import org.eclipse.aether.graph.Dependency;

/**
 * Copies the jars of a project into a directory, then ends Maven.
 *
 * An extension of Maven's core: a plugin that does the same is itself a package with 90 others, and
 * would be fetched for each installation.
 */
public class MavenJars extends AbstractMavenLifecycleParticipant {
    private ProjectDependenciesResolver resolver; // set by Maven

    @Override
    public void afterProjectsRead(MavenSession session) throws MavenExecutionException {
        Path directory = Path.of(System.getProperty("sandboxrun.directory"));
        for (MavenProject project : session.getProjects())
            copyJars(session, project, directory);
        Runtime.getRuntime().halt(0); // Nothing is built.
    }

    private void copyJars(MavenSession session, MavenProject project, Path directory) throws MavenExecutionException {
        try {
            Files.createDirectories(directory);
            for (Dependency one : resolver.resolve(request(session, project)).getResolvedDependencies())
                copy(one.getArtifact(), directory);
        } catch (DependencyResolutionException | IOException problem) {
            throw new MavenExecutionException(problem.getMessage(), problem);
        }
    }

    private static DefaultDependencyResolutionRequest request(MavenSession session, MavenProject project) {
        return new DefaultDependencyResolutionRequest(project, session.getRepositorySession());
    }

    private static void copy(Artifact artifact, Path directory) throws IOException {
        String classifier = artifact.getClassifier().isEmpty() ? "" : "-" + artifact.getClassifier();
        String name = artifact.getArtifactId() + "-" + artifact.getBaseVersion() + classifier + "." + artifact.getExtension();
        Files.copy(artifact.getFile().toPath(), directory.resolve(name), StandardCopyOption.REPLACE_EXISTING);
    }
}
