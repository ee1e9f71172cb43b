package sandboxrun;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.maven.AbstractMavenLifecycleParticipant;
import org.apache.maven.MavenExecutionException;
import org.apache.maven.RepositoryUtils;
import org.apache.maven.artifact.DefaultArtifact;
import org.apache.maven.artifact.handler.DefaultArtifactHandler;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.model.Model;
import org.apache.maven.model.building.DefaultModelBuildingRequest;
import org.apache.maven.model.building.ModelBuilder;
import org.apache.maven.model.building.ModelBuildingRequest;
import org.apache.maven.project.DefaultDependencyResolutionRequest;
import org.apache.maven.project.MavenProject;
import org.apache.maven.project.ProjectBuildingHelper;
import org.apache.maven.project.ProjectBuildingRequest;
import org.apache.maven.project.ProjectDependenciesResolver;
import org.apache.maven.project.ProjectModelResolver;
import org.eclipse.aether.RepositorySystem;
import org.eclipse.aether.artifact.Artifact;
import org.eclipse.aether.graph.Dependency;
import org.eclipse.aether.impl.RemoteRepositoryManager;

/**
 * Copies the jars of a project into a directory, then ends Maven.
 *
 * An extension of Maven's core: a plugin that does the same is itself a package with 90 others, and
 * would be fetched for each installation.  Maven runs with a project of ours.  Of the program's own
 * pom.xml only the model is read: its plugins, its extensions and its life cycle are code, and
 * none of it is loaded.
 */
public class MavenJars extends AbstractMavenLifecycleParticipant {
    private ProjectDependenciesResolver resolver; // these are set by Maven
    private ProjectBuildingHelper helper;
    private ModelBuilder models;
    private RepositorySystem system;
    private RemoteRepositoryManager repositories;

    @Override
    public void afterProjectsRead(MavenSession session) throws MavenExecutionException {
        Path directory = Path.of(System.getProperty("sandboxrun.directory"));
        String pom = System.getProperty("sandboxrun.pom");
        try {
            for (MavenProject project : session.getProjects())
                copyJars(session, project, directory);
            if (pom != null)
                copyJars(session, read(session, new File(pom)), directory);
        } catch (MavenExecutionException problem) {
            throw problem;
        } catch (Exception problem) {
            throw new MavenExecutionException(problem.getMessage(), problem);
        }
        Runtime.getRuntime().halt(0); // Nothing is built.
    }

    private MavenProject read(MavenSession session, File pom) throws Exception {
        ProjectBuildingRequest settings = session.getProjectBuildingRequest();
        ModelBuildingRequest request = new DefaultModelBuildingRequest();
        request.setPomFile(pom);
        request.setProcessPlugins(false);
        request.setValidationLevel(ModelBuildingRequest.VALIDATION_LEVEL_MINIMAL);
        request.setSystemProperties(settings.getSystemProperties());
        request.setUserProperties(settings.getUserProperties());
        request.setProfiles(settings.getProfiles());
        request.setActiveProfileIds(settings.getActiveProfileIds());
        request.setInactiveProfileIds(settings.getInactiveProfileIds());
        request.setModelResolver(new ProjectModelResolver(session.getRepositorySession(), null, system, repositories,
                RepositoryUtils.toRepos(settings.getRemoteRepositories()),
                ProjectBuildingRequest.RepositoryMerging.POM_DOMINANT, null));
        Model model = models.build(request).getEffectiveModel();
        MavenProject project = new MavenProject(model);
        project.setFile(pom);
        project.setArtifact(new DefaultArtifact(model.getGroupId(), model.getArtifactId(), model.getVersion(), null,
                "pom", null, new DefaultArtifactHandler("pom")));
        project.setRemoteArtifactRepositories(
                helper.createArtifactRepositories(model.getRepositories(), settings.getRemoteRepositories(), settings));
        return project;
    }

    private void copyJars(MavenSession session, MavenProject project, Path directory) throws Exception {
        Files.createDirectories(directory);
        for (Dependency one : resolver.resolve(request(session, project)).getResolvedDependencies())
            copy(one.getArtifact(), directory);
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
